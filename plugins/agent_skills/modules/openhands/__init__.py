from hutch_agent_skills.stand_in import stand_in

stand_in(globals())
del stand_in

/* foreign_verbs -- the verbs of docker and others that hutch has elsewhere, or has not. */
#pragma once

struct foreign_verb {
	const char *name;
	const char *ours;   /* the verb of hutch, such as "image ls"; NULL: there is none */
	const char *remedy;
};

/* Returns the entry of a verb that hutch does not have; NULL: the name is not known. */
const struct foreign_verb *foreign_verbs_find(const char *name);

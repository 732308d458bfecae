"""A model for agents under test: OpenAI's chat completions, whose answers a script has.

Each answer of the script is a text or a list of tool calls (name, arguments).  `asked` has the
messages of each request that offers tools; others, such as one for a title, are no turns of the script."""
import http.server
import json
import threading


def streamed(answer):
    """The answer as the events of a stream, in one piece."""
    choice = answer["choices"][0]
    calls = [{"index": i, **call} for i, call in enumerate(choice["message"].get("tool_calls", []))]
    delta = {**choice["message"], **({"tool_calls": calls} if calls else {})}
    parts = ({"delta": delta, "finish_reason": None}, {"delta": {}, "finish_reason": choice["finish_reason"]})
    events = [{**answer, "object": "chat.completion.chunk", "choices": [{"index": 0, **part}]} for part in parts]
    return "".join(f"data: {text}\n\n" for text in [*map(json.dumps, events), "[DONE]"]).encode()


class Model:
    def __init__(self, answers):
        self.answers, self.asked = list(answers), []
        model = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                answer = model.answer(body)
                data = streamed(answer) if body.get("stream") else json.dumps(answer).encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream" if body.get("stream") else "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_port

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *exc):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, body):
        number, said = len(self.asked), "a title"
        if body.get("tools"):
            self.asked.append(body["messages"])
            said = self.answers[number] if number < len(self.answers) else "the script has no more answers"
        message = {"role": "assistant", "content": said if isinstance(said, str) else None}
        if not isinstance(said, str):
            message["tool_calls"] = [
                {"id": f"call_{number}_{i}", "type": "function",
                 "function": {"name": name, "arguments": json.dumps(arguments)}}
                for i, (name, arguments) in enumerate(said)]
        return {"id": f"answer-{number}", "object": "chat.completion", "created": 0, "model": "scripted",
                "choices": [{"index": 0, "message": message,
                             "finish_reason": "stop" if isinstance(said, str) else "tool_calls"}],
                "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}

    def results(self):
        """The tools' results that the model has seen, in their order."""
        return [said["content"] if isinstance(said["content"], str)
                else "".join(part.get("text", "") for part in said["content"])
                for said in (self.asked[-1] if self.asked else []) if said["role"] == "tool"]

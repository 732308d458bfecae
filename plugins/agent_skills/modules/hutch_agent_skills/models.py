"""models -- asks a model about sounds, pictures and videos.

It is OpenAI's interface, with the variables OPENAI_API_KEY, OPENAI_BASE_URL, OPENAI_MODEL and
MAX_TOKEN.  They are read at each call, since they may be set after the import.
"""
from __future__ import annotations

import base64
import os

from .files import opened_bytes, printable

FILE_MAX = 64 << 20
FRAMES_MAX = 30
DESCRIBE = "Describe this image as detail as possible."


def key():
    return os.environ.get("OPENAI_API_KEY", os.environ.get("SANDBOX_ENV_OPENAI_API_KEY", ""))


def base_url():
    return os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1")


def is_there():
    return bool(key() and base_url())


def client():
    from openai import OpenAI
    return OpenAI(api_key=key(), base_url=base_url())


def bytes_of(path):
    with opened_bytes(path) as file:
        data = file.read(FILE_MAX + 1)
    if len(data) > FILE_MAX:
        raise ValueError(f"{printable(path)} has more than {FILE_MAX} bytes")
    return data


def describe(task, picture):
    """Returns what the model says about a picture."""
    url = "data:image/jpeg;base64," + base64.b64encode(picture).decode("ascii")
    parts = [{"type": "text", "text": task}, {"type": "image_url", "image_url": {"url": url}}]
    answer = client().chat.completions.create(
        model=os.environ.get("OPENAI_MODEL", "gpt-4o"), messages=[{"role": "user", "content": parts}],
        max_tokens=int(os.environ.get("MAX_TOKEN", "500")))
    return answer.choices[0].message.content


def parse_audio(file_path: str, model: str = 'whisper-1') -> None:
    """Prints the words of an audio file, in English.

    Args:
        file_path: str: The file.
        model: str: The model that listens. The default is 'whisper-1'.
    """
    print(f"[Transcribing audio file from {printable(file_path)}]")
    try:
        sound = (os.path.basename(file_path), bytes_of(file_path))
        print(client().audio.translations.create(model=model, file=sound).text)
    except Exception as e:
        print(f"Error transcribing audio file: {e}")


def parse_image(file_path: str, task: str = 'Describe this image as detail as possible.') -> None:
    """Prints what a model sees in a picture.

    Args:
        file_path: str: The file.
        task: str: The question. The default is 'Describe this image as detail as possible.'.
    """
    print(f"[Reading image file from {printable(file_path)}]")
    try:
        print(describe(task, bytes_of(file_path)))
    except Exception as e:
        print(f"Error with the request: {e}")


def frames_of(path, step):
    """Returns each step-th frame of a video as JPEG."""
    import cv2
    video, frames, number = cv2.VideoCapture(path), [], 0
    while video.isOpened():
        is_read, frame = video.read()
        if not is_read:
            break
        if number % step == 0:
            frames.append(cv2.imencode(".jpg", frame)[1].tobytes())
        number += 1
    video.release()
    return frames


def parse_video(file_path: str, task: str = 'Describe this image as detail as possible.',
                frame_interval: int = 30) -> None:
    """Prints what a model sees in frames of a video, at most about 30.

    Args:
        file_path: str: The file.
        task: str: The question about each frame. The default is 'Describe this image as detail as possible.'.
        frame_interval: int: One of so many frames is asked about. The default is 30.
    """
    print(f"[Processing video file from {printable(file_path)} with frame interval {frame_interval}]")
    try:
        # The reference takes each tenth frame, and each frame_interval-th of those.
        all_frames = frames_of(file_path, 10)
        frames = all_frames[::frame_interval]
    except Exception as e:
        print(f"Error reading video file: {e}")
        return
    if len(frames) > FRAMES_MAX:
        frames = all_frames[::len(all_frames) // FRAMES_MAX]
    print(f"Totally {len(frames)} would be analyze...\n")
    for n, frame in enumerate(frames, 1):
        print(f"Process the {printable(file_path)}, current No. {n * frame_interval} frame...")
        try:
            answer = describe(task or "This is one frame from a video, please summarize this frame.", frame)
            print(f"Frame {n}'s content: {answer}\n")
        except Exception as e:
            print(f"Error with the request: {e}")

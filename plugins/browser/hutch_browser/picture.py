"""picture -- screenshots: PNGs of bounded size, and the file that each is saved to."""
import base64
import datetime
import io
import os

import numpy
from browsergym.utils.obs import overlay_som
from PIL import Image

# An answer has two pictures, and all of it is bounded (wire.LINE_MAX).
PNG_MAX = 2 << 20
# A page that says that it is larger than that gets no picture.
EDGE_MAX = 4096
# How far a mark reaches beyond its box.
EDGE = 64


def png_of(image):
    """Returns the picture as bytes; with fewer colours where it would be too large."""
    for colours in (None, 256, 16):
        file = io.BytesIO()
        (image if colours is None else image.quantize(colours)).save(file, "PNG", compress_level=3)
        if file.tell() <= PNG_MAX:
            return file.getvalue()
    return None


def take(page):
    """Returns the picture of a page's viewport, and its PNG."""
    session = page.context.new_cdp_session(page)
    try:
        taken = session.send("Page.captureScreenshot", {"format": "png"})
    finally:
        session.detach()
    data = base64.b64decode(taken["data"])
    image = Image.open(io.BytesIO(data))
    if max(image.size) > EDGE_MAX:
        return None, None
    image = image.convert("RGB")
    return image, data if len(data) <= PNG_MAX else png_of(image)


def with_marks(image, properties):
    """Returns the PNG of the picture with a box around each element that can be acted on.
    Those outside of the picture would take time and show nothing."""
    width, height = image.size
    visible = {}
    for bid, found in properties.items():
        box = found["bbox"]
        if box and -box[2] - EDGE <= box[0] < width + EDGE and -box[3] - EDGE <= box[1] < height + EDGE:
            visible[bid] = found
    return png_of(Image.fromarray(overlay_som(numpy.array(image), visible)))


def save(data, folder):
    """Saves a PNG in the working directory, and returns its path."""
    folder = os.path.join(folder, ".browser_screenshots")
    os.makedirs(folder, exist_ok=True)
    now = datetime.datetime.now().strftime("%Y%m%d_%H%M%S_%f")
    path = os.path.join(folder, f"screenshot_{now}.png")
    with open(path, "wb") as file:
        file.write(data)
    return path


def png_of_url(url):
    """Returns the PNG of a data: URL, or None."""
    if not url.startswith("data:") or "," not in url:
        return None
    try:
        image = Image.open(io.BytesIO(base64.b64decode(url.split(",", 1)[1])))
        return png_of(image.convert("RGB"))
    except (OSError, ValueError):
        return None

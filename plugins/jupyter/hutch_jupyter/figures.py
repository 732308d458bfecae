"""figures -- matplotlib's figures as pictures of the cell, as matplotlib-inline has them."""
import base64
import io


def take_over(pyplot, interpreter):
    """Lets pyplot.show() show the figures now, and not at the cell's end."""
    pyplot.show = lambda *_, **__: show_all(interpreter, pyplot)


def show_all(interpreter, pyplot=None):
    """Shows the figures that are open, and closes them."""
    if pyplot is None:
        import matplotlib.pyplot as pyplot
    try:
        for number in pyplot.get_fignums():
            figure = pyplot.figure(number)
            if not figure.axes and not figure.lines:
                continue
            interpreter.send_bundle({"text/plain": repr(figure), "image/png": png_of(figure)}, None)
    finally:
        pyplot.close("all")


def png_of(figure):
    file = io.BytesIO()
    figure.canvas.print_figure(file, format="png", bbox_inches="tight", dpi=figure.dpi,
                               facecolor=figure.get_facecolor(), edgecolor=figure.get_edgecolor())
    return base64.b64encode(file.getvalue()).decode()

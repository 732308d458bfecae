"use strict";
/* viewer.js -- shows the pages of a PDF file, by pdf.js.  Pages are drawn when they come near the
 * window, and are forgotten when they leave it. */

const PAGES_MAX = 1000;
const SCALE = 1.5;

function note(text) {
	const line = document.createElement("p");
	line.className = "note";
	line.textContent = text;
	document.getElementById("pages").append(line);
}

/* Draws the page of a canvas; `forget` may come before the end. */
async function draw(canvas, place) {
	const viewport = place.page.getViewport({ scale: SCALE });

	canvas.width = viewport.width;
	canvas.height = viewport.height;
	place.task = place.page.render({ canvasContext: canvas.getContext("2d"), viewport });
	try {
		await place.task.promise;
	} catch (e) {
		if (!(e instanceof pdfjsLib.RenderingCancelledException))
			note("A page cannot be drawn: " + e.message);
	}
}

function forget(canvas, place) {
	place.task?.cancel();
	place.task = null;
	canvas.width = canvas.height = 0;
}

/* A canvas without its picture keeps its place on the page. */
function emptyCanvas() {
	const canvas = document.createElement("canvas");

	canvas.className = "page";
	canvas.width = canvas.height = 0;
	document.getElementById("pages").append(canvas);
	return canvas;
}

function place(canvas, page) {
	const viewport = page.getViewport({ scale: SCALE });

	canvas.style.width = viewport.width + "px";
	canvas.style.height = viewport.height + "px";
	return canvas;
}

/* The canvas of the first page is there before pdf.js is, so that a browser that is driven by a
 * program, and looks early, sees that a picture is to come. */
function firstCanvas() {
	const canvas = emptyCanvas();

	canvas.style.width = canvas.style.height = "600px";
	return canvas;
}

async function show(first) {
	const places = new Map();
	const watcher = new IntersectionObserver(entries => {
		for (const { target, isIntersecting } of entries) {
			if (isIntersecting && !target.width)
				draw(target, places.get(target));
			else if (!isIntersecting)
				forget(target, places.get(target));
		}
	}, { rootMargin: "100%" });

	pdfjsLib.GlobalWorkerOptions.workerSrc = "/pdfjs/build/pdf.worker.js";
	/* isEvalSupported: pdf.js before 4.2 runs what a font says (CVE-2024-4367).  The policy of the
	 * page forbids that, too. */
	const pdf = await pdfjsLib.getDocument({
		url: document.getElementById("pages").dataset.source, isEvalSupported: false, verbosity: 0,
		cMapUrl: "/pdfjs/web/cmaps/", cMapPacked: true,
		standardFontDataUrl: "/pdfjs/web/standard_fonts/",
	}).promise;
	for (let n = 1; n <= Math.min(pdf.numPages, PAGES_MAX); n++) {
		const page = await pdf.getPage(n);
		const canvas = place(n === 1 ? first : emptyCanvas(), page);
		places.set(canvas, { page, task: null });
		watcher.observe(canvas);
	}
	if (pdf.numPages > PAGES_MAX)
		note(`The file has ${pdf.numPages} pages; the first ${PAGES_MAX} are shown.`);
}

document.addEventListener("DOMContentLoaded", () => {
	const first = firstCanvas();

	show(first).catch(e => {
		first.remove();
		note("The file cannot be shown: " + e.message);
	});
});

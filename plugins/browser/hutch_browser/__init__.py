"""hutch_browser -- a browser for actions, by browsergym-core, Playwright and Chromium.

- needs: what must be there: the interpreter, the packages, Chromium
- wire: the lines of JSON between the executor and this program
- session: calls, one after the other, and what ends one that takes too long
- browser: browsergym's environment, with bounds on what a page can cost
- page: what of a page goes into an observation
- process: the processes of Playwright and Chromium
- text: the texts of observations
- downloads: files that the browser has fetched
- picture: screenshots
"""

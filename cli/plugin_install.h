/* plugin_install -- hutch plugin install: makes what a plugin needs, such as a virtual
 * environment of Python.
 *
 * The plugin's own program does it, in a sandbox that reaches the hosts of plugin.json and
 * no other, and that writes into one new folder.  When the program has succeeded, that
 * folder takes its place in the store at once, so that sandboxes see the old one or the
 * new one and nothing between. */
#pragma once

int plugin_install_main(char **argv);

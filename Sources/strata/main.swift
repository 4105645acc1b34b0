import StrataSystem

// A reader that closes the pipe is an error of `write`, not a signal that ends the program.
signal(SIGPIPE, SIG_IGN)
UnreadableMappings.installHandler()
exit(await Program.run(Array(CommandLine.arguments.dropFirst())))

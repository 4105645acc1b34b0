import StrataSystem

// A standard stream that is closed leaves its number to the next file that is opened. Then a store would be read as the input, and what is
// printed would be written into it.
for stream in STDIN_FILENO...STDERR_FILENO where fcntl(stream, F_GETFD) < 0 {
  _ = open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY)
}
// A closed pipe, and a file that may not become larger, are errors of `write`, not signals that end the program.
for number in [SIGPIPE, SIGXFSZ] { signal(number, SIG_IGN) }
UnreadableMappings.installHandler()
// In a name that is not UTF-8 the bytes are replaced, and then it is the name of another file.
for (place, word) in CommandLine.arguments.enumerated()
where CommandLine.unsafeArgv[place].flatMap({ String(validatingCString: $0) }) == nil {
  complain("\(word): this argument is not UTF-8")
  exit(2)
}
exit(await Program.run(Array(CommandLine.arguments.dropFirst())))

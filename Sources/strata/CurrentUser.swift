import StrataSystem

/// The name of the person who runs the program, as commits keep it.
func currentUser() -> String {
  if let entry = getpwuid(getuid()), let name = entry.pointee.pw_name { return String(cString: name) }
  return environment("USER") ?? "user \(getuid())"
}

/// A variable of the environment, where it is set to anything but nothing.
func environment(_ name: String) -> String? {
  guard let value = getenv(name), value.pointee != 0 else { return nil }
  return String(cString: value)
}

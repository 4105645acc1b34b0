import StrataSystem

/// The name of the person who runs the program, as commits keep it.
func currentUser() -> String {
  if let entry = getpwuid(getuid()), let name = entry.pointee.pw_name { return String(cString: name) }
  return environment("USER") ?? "user \(getuid())"
}

/// A variable of the environment, where it is set to anything but nothing. The home folder is also known without one.
func environment(_ name: String) -> String? {
  if let value = getenv(name), value.pointee != 0 { return String(cString: value) }
  guard name == "HOME", let entry = getpwuid(getuid()), let home = entry.pointee.pw_dir else { return nil }
  return String(cString: home)
}

import StrataFoundation

/// The name of the user who runs the program, as commits keep it. On Apple's mobile devices it is the same for all users.
package func currentUserName() -> String {
  #if canImport(Darwin)
    // `ProcessInfo` has the name on macOS only.
    return NSUserName()
  #else
    return ProcessInfo.processInfo.userName
  #endif
}

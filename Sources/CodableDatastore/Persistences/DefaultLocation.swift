import StrataFoundation

enum DefaultLocation {
  static func url() throws -> URL {
    try applicationData().appending(path: programName).appending(path: "DefaultStore.persistencestore")
  }

  private static var programName: String {
    #if canImport(Darwin)
      return Bundle.main.bundleIdentifier ?? ProcessInfo.processInfo.processName
    #else
      return ProcessInfo.processInfo.processName
    #endif
  }

  private static func applicationData() throws -> URL {
    #if canImport(Darwin)
      guard let folder = FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask).first else {
        throw DiskPersistenceError.missingAppSupportDirectory
      }
      return folder
    #else
      let environment = ProcessInfo.processInfo.environment
      if let data = environment["XDG_DATA_HOME"], data.hasPrefix("/") {
        return URL(filePath: data, directoryHint: .isDirectory)
      }
      guard let home = environment["HOME"], home.hasPrefix("/") else {
        throw DiskPersistenceError.missingAppSupportDirectory
      }
      return URL(filePath: home, directoryHint: .isDirectory).appending(path: ".local/share")
    #endif
  }
}

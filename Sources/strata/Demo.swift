import StrataAtlas
import CodableDatastore
import StrataCurses
import StrataModel
import StoreEntities
import StrataFoundation
import StrataEngine
import StrataSystem
import StoreBrowser

extension Program {
  /// Opens the browser on the sample store. The first time the store is written as version 1 of the app would have left it; the user then
  /// sees the warm-up to version 2.
  @MainActor static func demo(_ arguments: VerbArguments) async throws -> Int32 {
    // A development build starts itself again for this; it must not write the sample twice.
    if !arguments.has("--script") { TerminalSession.silenceBacktracer() }
    if let url = arguments.operand(0), isServer(url) { return try await demoOnServer(url, arguments) }
    if arguments.has("--entities") { return try await demoOfEntities(arguments) }
    let path = try arguments.operand(0) ?? samplePath("Atlas")
    let keys = [CityFormat.defaultKey.rawValue, CountryFormat.defaultKey.rawValue]
    let exists = try await writeSample(of: keys, at: path, arguments) { try await $0.write(to: $1) }
    return try await showSample(path, arguments, isNew: !exists) {
      try DiskPersistence(readWriteURL: URL(filePath: path))
    }
  }

  /// Opens the browser on the sample with the app's types; it is warmed up from the start if requested.
  @MainActor static func showSample<Store: Persistence<ReadWrite>>(
    _ path: String, _ arguments: VerbArguments, isNew: Bool = false, in open: @escaping @Sendable () throws -> Store
  ) async throws -> Int32 {
    let shown = shownLocation(path)
    var configuration = BrowserConfiguration(storePath: shown, environment: ["HOME", "XDG_CONFIG_HOME"].environment)
    configuration.start.datastore = CityFormat.defaultKey.rawValue
    return try await show(path, configuration, arguments) { [configuration] _ in
      let persistence = try open()
      let browsable = try persistence.browsable(
        with: CityFormat.datastore(in: persistence), CountryFormat.datastore(in: persistence), releasesLock: true)
      var configuration = configuration
      configuration.warmsUpAtStart = try browsable.warmUp?.plan().isEmpty == false
      configuration.startsAtMigration = false
      configuration.greeting =
        "Cities of the world: "
        + (isNew ? ":tour shows six steps · ? keys" : "j k move · 5 histogram · gp map · gH history · ? keys")
      let files = stateFiles(shown, of: browsable.store)
      return OpenedStore(
        browsable.store, configuration: configuration, files: files, warmUp: browsable.warmUp)
    }
  }

  /// Opens the browser on the sample as records without a type, which is written the first time.
  @MainActor private static func demoOfEntities(_ arguments: VerbArguments) async throws -> Int32 {
    let path = try arguments.operand(0) ?? samplePath("Countries")
    _ = try await writeSample(of: [EntityFormat.defaultKey.rawValue], at: path, arguments) {
      try await EntitySample($0).write(to: $1)
    }
    var configuration = BrowserConfiguration(storePath: path, environment: ["HOME", "XDG_CONFIG_HOME"].environment)
    configuration.start.datastore = EntityFormat.defaultKey.rawValue
    configuration.greeting = "Countries without a type: j k move · Enter follows → · gr referrers · ? all keys"
    return try await show(path, configuration, arguments) { [configuration] _ in
      let store = try openStore(path, readOnly: configuration.isReadOnly, waits: false)
      let files = stateFiles(path, of: store)
      return OpenedStore(store, configuration: configuration, files: files)
    }
  }

  /// The path of a sample store unless one is given: `$XDG_DATA_HOME/strata/Atlas.strata`.
  private static func samplePath(_ name: String) throws -> String {
    if let data = environment("XDG_DATA_HOME") { return "\(data)/strata/\(name).strata" }
    if let home = environment("HOME") { return "\(home)/.local/share/strata/\(name).strata" }
    throw ModelError.refused(reason: "there is no $HOME to write the sample store in; give a PATH")
  }

  /// Throws unless the store is a sample store that no process is writing, so that nothing else is replaced.
  private static func requireSample(at path: String, _ sampleKeys: [String]) throws {
    let store = try openStore(path, readOnly: true)
    let keys = try store.head.datastoreKeys
    let storeFiles = ["data", "lock", "activity", "ancestry", "inbox", "pruning", "remotes"]
    let others = try FileManager.default.contentsOfDirectory(atPath: path).filter { name in
      !storeFiles.contains { name == $0 || name.hasPrefix("\($0).") }
    }
    guard !keys.isEmpty, Set(keys).isSubset(of: sampleKeys), others.isEmpty else {
      let found = (keys + others.sorted()).joined(separator: ", ")
      throw ModelError.refused(reason: "\(path) is not a sample store (it has \(found)); it stays")
    }
    if let writer = store.writer { throw ModelError.locked(writer) }
  }

  static func installedSample(_ citiesFile: String?) throws -> Sample {
    guard let folder = AtlasResources.folder() else {
      throw ModelError.refused(
        reason: "the sample's files (cities.jsonl, countries.jsonl) are not beside this program; install it again")
    }
    return try Sample(folder: folder, citiesFile: citiesFile)
  }

  /// Writes a sample, and replaces an existing one only if the arguments say so. Returns whether there was one.
  private static func writeSample(
    of keys: [String], at path: String, _ arguments: VerbArguments,
    _ write: @Sendable (Sample, URL) async throws -> Void
  ) async throws -> Bool {
    let (exists, isAnew) = (FileManager.default.fileExists(atPath: path), arguments.has("--again"))
    if exists, !isAnew, arguments.has("--cities") {
      throw UsageError("\(path) is written already; --again replaces it", verb: arguments.verb)
    }
    if exists, !isAnew { return true }
    if exists { try requireSample(at: path, keys) }
    let sample = try installedSample(arguments.value("--cities"))
    complain("writing the sample store \(path)")
    // Written beside the one that it replaces, which stays if that fails.
    let folder = path.hasSuffix("/") ? String(path.dropLast()) : path
    let place = exists ? "\(folder).\(getpid())" : path
    let draft = try onStorage { try StoreDraft(at: place) }
    defer { draft.cancel() }
    try await write(sample, URL(filePath: draft.workPath))
    try onStorage { try draft.finish() }
    guard exists else { return false }
    try FileManager.default.removeItem(atPath: folder)
    try SystemDisk().rename(place, to: folder)
    return true
  }
}

import Atlas
import CodableDatastore
import CursesTerminal
import DatastoreModel
#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import StoreBrowser

extension Program {
  /// The browser on the sample store, which is written the first time as version 1 of the app would have left it, and
  /// then warmed up to version 2 before the person's eyes.
  @MainActor static func demo(_ arguments: VerbArguments) async throws -> Int32 {
    // A development build starts itself again for this; it must not write the sample twice.
    if !arguments.has("--script") { TerminalSession.silenceBacktracer() }
    let path = try arguments.operand(0) ?? samplePath()
    let url = URL(filePath: path)
    let exists = FileManager.default.fileExists(atPath: path)
    if exists, !arguments.has("--again"), arguments.has("--cities") {
      throw UsageError("\(path) is written already; --again writes it anew", verb: arguments.verb)
    }
    if exists, arguments.has("--again") { try requireSample(at: path) }
    if !exists || arguments.has("--again") { try await writeSample(to: url, citiesFile: arguments.value("--cities")) }

    var configuration = BrowserConfiguration(storePath: path, environment: ["HOME", "XDG_CONFIG_HOME"].environment)
    configuration.start.datastore = CityFormat.defaultKey.rawValue
    return try await show(path, configuration, arguments) { [configuration] in
      let persistence = try DiskPersistence(readWriteURL: url)
      let browsable = try persistence.browsable(
        with: CityFormat.datastore(in: persistence), CountryFormat.datastore(in: persistence), releasesLock: true)
      var configuration = configuration
      configuration.warmsUpAtStart = try browsable.warmUp?.plan().isEmpty == false
      return .init(
        store: browsable.store, configuration: configuration, files: stateFiles(path), warmUp: browsable.warmUp)
    }
  }

  /// Where the sample store lies unless a path is given: `$XDG_DATA_HOME/strata/Atlas.strata`.
  private static func samplePath() throws -> String {
    if let data = environment("XDG_DATA_HOME") { return "\(data)/strata/Atlas.strata" }
    if let home = environment("HOME") { return "\(home)/.local/share/strata/Atlas.strata" }
    throw ModelError.refused(reason: "there is no $HOME to write the sample store in; give a PATH")
  }

  /// Lets nothing be replaced but a sample store that nobody is writing.
  private static func requireSample(at path: String) throws {
    let store = try openStore(path, readOnly: true)
    let keys = try store.head.datastores.map(\.descriptor.key)
    let sampleKeys = [CityFormat.defaultKey.rawValue, CountryFormat.defaultKey.rawValue]
    guard Set(keys).isSubset(of: sampleKeys) else {
      throw ModelError.refused(reason: "\(path) is no sample store (it has \(keys.joined(separator: ", "))); it stays")
    }
    if let writer = store.writer { throw ModelError.locked(writer) }
  }

  private static func writeSample(to url: URL, citiesFile: String?) async throws {
    guard let folder = AtlasResources.folder() else {
      throw ModelError.refused(
        reason: "the sample's files (cities.jsonl, countries.jsonl) are not beside this program; install it again")
    }
    complain("writing the sample store \(url.path)")
    let sample = try Sample(folder: folder, citiesFile: citiesFile)
    let unfinished = url.deletingLastPathComponent().appending(path: ".\(url.lastPathComponent).unfinished")
    try? FileManager.default.removeItem(at: unfinished)
    try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try await sample.write(to: unfinished)
    if FileManager.default.fileExists(atPath: url.path) { try FileManager.default.removeItem(at: url) }
    try FileManager.default.moveItem(at: unfinished, to: url)
  }
}

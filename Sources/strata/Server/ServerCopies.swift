import StrataExchange
import StrataModel
import StrataDocuments
import StrataFoundation
import StrataEngine
import StoreBrowser
#if PostgreSQL
  import PostgresPersistence
  import StrataPostgres
#endif

// Copies between files and servers: copy PATH URL, copy URL PATH.

/// Whether an argument names a store on a server.
func isServer(_ text: String) -> Bool { RemoteLocation.isServer(text) }

/// A path or URL for messages, without its password and in one way of writing.
func shownLocation(_ text: String) -> String {
  if RemoteLocation.isSSH(text) { return (try? remoteLocation(text).text) ?? text }
  #if PostgreSQL
    return isServer(text) ? (try? ServerURL(parsing: text).description) ?? "postgres://…" : text
  #else
    return isServer(text) ? "postgres://…" : text
  #endif
}

/// Opens the store that a URL names. A role that may only read makes it read-only.
///
/// - Parameters:
///   - creates: whether to create its tables if there are none.
///   - waits: whether to wait for an unreachable server, and to print notes on standard error. Not for the browser, which shows both
///     itself.
func openServer(
  _ text: String, readOnly: Bool, creates: Bool = false, waits: Bool = true
) throws(ModelError) -> any ReadableStore {
  #if PostgreSQL
    let url: ServerURL
    do throws(InvalidServerURL) {
      url = try ServerURL(parsing: text)
    } catch {
      throw .invalid(text: "", column: nil, reason: error.description)
    }
    let engine = try onStorage {
      try ServerStore.ofDatastores(
        url, creates: creates, isReadOnly: readOnly, options: serverOptions(waits: waits))
    }
    let access: StoreAccess = engine.readOnlyReason.map { .readOnly(reason: $0) } ?? .readWrite
    let store = EngineStore(engine, path: engine.path, access: access, program: "strata")
    guard case .readWrite = access else { return store }
    return try onFailures { try typedStore(PostgresPersistence(lazily: text), store.head) ?? store }
  #else
    throw ModelError.refused(reason: "this program was built without PostgreSQL")
  #endif
}

#if PostgreSQL
  private func serverOptions(waits: Bool = true) -> ServerOptions {
    var options = ServerOptions(program: "strata", author: currentUser(), waitsToRead: waits)
    if waits { options.notice = { complain($0) } }
    return options
  }

  /// Returns the problems of the pins of a store on a server, a sentence each.
  func faultsOfPins(of store: EngineStore) throws(ModelError) -> [String] {
    try onStorage { try (store.engine as? ServerStore)?.faultsOfNames() ?? [] }
  }
#else
  func faultsOfPins(of store: EngineStore) throws(ModelError) -> [String] { [] }
#endif

extension VerbRun {
  /// Copies a store with its whole history to a server, from one, or from one to another by a file in memory.
  func copyByServer(_ from: String, _ to: String) throws {
    #if PostgreSQL
      guard arguments.value("--at") == nil else {
        throw UsageError("a copy to or from a server has the whole history", verb: arguments.verb)
      }
      let report: HistoryUpload.Report
      do {
        report = try copy(from, to, ProgressMeter("copying"))
      } catch let error as InvalidServerURL {
        throw ModelError.invalid(text: "", column: nil, reason: error.description)
      }
      let shown = shownLocation(to)
      try tell(
        [
          "path": .string(shown), "commits": .count(report.commits), "head": .commit(CommitNumber(report.head)),
        ], or: "\(shown): \(counted(report.commits, "commit")), head is #\(report.head)")
    #else
      throw ModelError.refused(reason: "this program was built without PostgreSQL")
    #endif
  }
}

#if PostgreSQL
  extension VerbRun {
    private func copy(_ from: String, _ to: String, _ meter: ProgressMeter) throws -> HistoryUpload.Report {
      guard isServer(from) else { return try upload(ownStore(store()).engine, to, meter) }
      // If the source cannot be read, nothing is left behind.
      let server = try ServerStore.ofDatastores(
        ServerURL(parsing: from), isReadOnly: true, options: serverOptions())
      if isServer(to) {
        let store = EngineStore.memory(program: "strata", author: currentUser())
        _ = try download(server, store.engine, meter)
        return try upload(store.engine, to, meter)
      }
      return try making(to) { workPath in
        let store = try EngineStore.open(path: workPath, program: "strata", author: currentUser(), creates: true)
        let report = try download(server, store.engine, meter)
        try store.engine.close()
        return report
      }
    }

    private func upload(_ source: any Engine, _ url: String, _ meter: ProgressMeter) throws -> HistoryUpload.Report {
      let server = try ServerStore.ofDatastores(
        ServerURL(parsing: url), creates: true, options: serverOptions())
      let report = try HistoryUpload.run(from: source, to: server) { meter.report($0, $1) }
      server.keepReporting()
      return report
    }

    private func download(
      _ server: ServerStore, _ target: any Engine, _ meter: ProgressMeter
    ) throws -> HistoryUpload.Report {
      try HistoryDownload.run(from: server, to: target) { meter.report($0, $1) }
    }
  }
#endif

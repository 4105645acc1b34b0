import CodableDatastore
import StrataModel
import StrataExchange
import StrataDocuments
import StrataFoundation
import StrataEngine
import StoreBrowser
#if PostgreSQL
  import PostgresPersistence
#endif

/// The program from its arguments to its exit status.
///
/// Statuses: 0 fine, 1 failed or not found, 2 usage, 3 damaged or newer format, 4 locked.
struct Program {
  /// Runs a verb, or the browser. On the caller's actor: a verb that waits for no task ends before the pool has begun its threads,
  /// which takes as long as a short verb.
  nonisolated(nonsending) static func run(_ words: [String]) async -> Int32 {
    #if PostgreSQL
      PostgresRemotes.enable()
    #endif
    do {
      return try await dispatch(words)
    } catch is OutputClosed {
      return 0
    } catch {
      let (sentence, status) = ending(error)
      complain(sentence)
      return status
    }
  }

  /// The sentence about an error, and the exit status.
  static func ending(_ error: any Error) -> (sentence: String, status: Int32) {
    switch error {
    case let error as UsageError: (error.description, 2)
    case let error as ModelError: (error.description, error.exitStatus)
    case let error as StorageError: ending(ModelError(error))
    case let error as ExchangeError: (error.description, error.exitStatus)
    case let error as ExpressionError: (error.description, 2)
    case let error as StoreError: (error.message, error.exitStatus)
    default: ((error as? any LocalizedError)?.errorDescription ?? String(describing: error), 1)
    }
  }

  nonisolated(nonsending) static func dispatch(_ words: [String]) async throws -> Int32 {
    guard let first = words.first else { return try await browse([]) }
    switch first {
    case "--help", "-h": return try await run("help", [])
    case "--version":
      try Output.print("strata \(version)\n")
      return 0
    default:
      guard let verb = Verb.named(first) else {
        guard isWordAlone(first) else { return try await browse(words) }
        let near = UnknownName.nearest(to: first, among: Verb.all.map(\.name))
        guard words.count > 1 || !near.isEmpty else { return try await browse(words) }
        throw UsageError(
          "“\(first)” is not a verb, and nothing lies at that path\(UnknownName.question(near)); strata help lists the verbs"
        )
      }
      let rest = Array(words.dropFirst())
      if rest.contains("--help") { return try await run("help", [first]) }
      return try await first == "demo" ? demo(VerbArguments(rest, for: verb)) : run(first, rest)
    }
  }

  /// Whether a first argument was meant as a verb: letters, and no path.
  private static func isWordAlone(_ word: String) -> Bool {
    word.allSatisfy { $0.isLetter || $0 == "-" } && word.first?.isLetter == true
      && !FileManager.default.fileExists(atPath: word)
  }

  private nonisolated(nonsending) static func run(_ name: String, _ words: [String]) async throws -> Int32 {
    guard let verb = Verb.named(name) else { throw UsageError("“\(name)” is not a verb; strata help lists them") }
    let run = VerbRun(try VerbArguments(words, for: verb))
    do { return try await run.run() } catch {
      let known = error as? ModelError ?? (error as? StorageError).map { ModelError($0) }
      guard let known, let path = run.arguments.operand(0), !isServer(path) else { throw error }
      throw known.opening(path)
    }
  }

  /// The release that this is.
  static let version = "0.9.0"
}

extension StoreError {
  fileprivate var exitStatus: Int32 {
    switch kind {
    case .damaged, .newerFormat: 3
    case .locked: 4
    default: 1
    }
  }
}

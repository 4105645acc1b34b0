import Atlas
import CodableDatastore
import DatastoreModel
import Dispatch
import FoundationEssentials
import StoreBrowser
import Synchronization

/// Brings the sample store up to the formats of the app `Atlas`.
final class AtlasWarmUp: WarmUpDriver {
  private let url: URL

  init(_ url: URL) { self.url = url }

  func plan() throws(ModelError) -> [String] {
    let view = try openStore(url.path, readOnly: true).head
    let indexes = try view.datastore(CityFormat.defaultKey.rawValue)?.descriptor.indexes.map(\.name) ?? []
    let declared = CityFormat().generateIndexRepresentations().values.map(\.indexName.rawValue).sorted()
    return declared.filter { !indexes.contains($0) }.map { "City: index \($0), new" }
  }

  func warmUp(leavingOut: [RecordPlace], report: @escaping @Sendable (Activity) -> Bool) throws(ModelError)
    -> WarmUpResult
  {
    let outcome = Mutex<Result<WarmUpResult, ModelError>>(.failure(.cancelled))
    let finished = DispatchSemaphore(value: 0)
    let started = LocalTime.now
    let running = Mutex<Task<Void, Never>?>(nil)
    let task = Task { [url] in
      let result = await Self.warm(url) { progress in
        if !report(Activity(progress, startedAt: started)) { running.withLock { $0?.cancel() } }
      }
      outcome.withLock { $0 = result }
      finished.signal()
    }
    running.withLock { $0 = task }
    finished.wait()
    return try outcome.withLock { $0 }.get()
  }

  private static func warm(_ url: URL, _ report: @escaping @Sendable (WarmUpProgress) -> Void) async
    -> Result<WarmUpResult, ModelError>
  {
    let failures = Mutex<[WarmUpFailure]>([])
    do {
      let persistence = try DiskPersistence(readWriteURL: url)
      let cities = CityFormat.datastore(in: persistence)
      do {
        try await cities.warm { progress in
          report(progress)
          failures.withLock { $0 = progress.failures.map(WarmUpFailure.init) }
        }
        try await persistence.close()
      } catch {
        try? await persistence.close()
        throw error
      }
      return .success(WarmUpResult(commit: try openStore(url.path, readOnly: true).head.commit))
    } catch is CancellationError {
      return .failure(.cancelled)
    } catch {
      let failures = failures.withLock { $0 }
      if !failures.isEmpty { return .success(WarmUpResult(commit: nil, failures: failures)) }
      return .failure(error as? ModelError ?? .storage(String(describing: error), kind: .failed))
    }
  }
}

extension Activity {
  /// A warm-up of the cities as every process's migration pane shows it.
  fileprivate init(_ progress: WarmUpProgress, startedAt: Int64) {
    let current = progress.steps.first { !$0.isComplete } ?? progress.steps.last
    self.init(
      title: "warm-up City" + (current.map { ": \($0.title)" } ?? ""), done: current?.done ?? 0,
      total: current?.total ?? 0, startedAt: startedAt,
      steps: progress.steps.map {
        Step(title: $0.title, done: $0.done, total: $0.total, isComplete: $0.isComplete)
      })
  }
}

extension WarmUpFailure {
  fileprivate init(_ failure: WarmUpProgress.Failure) {
    let path = failure.decodingPath.isEmpty ? "" : " at \(failure.decodingPath)"
    let identifier = StoredKey(bytes: Array(failure.identifier.utf8), value: .string(failure.identifier))
    self.init(
      place: RecordPlace(datastore: CityFormat.defaultKey.rawValue, identifier: identifier),
      reason: failure.reason + path, byteCount: 0)
  }
}

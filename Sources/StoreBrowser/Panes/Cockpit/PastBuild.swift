import StrataModel

/// A build of indexes that this browser ran or watched, as it remembers it.
package struct PastBuild: Sendable, Hashable, Codable {
  package var title: String
  /// Nanoseconds since 1970.
  package var startedAt: Int64
  package var seconds: Double
  /// Records that were decoded; 0 if the build went on with the entries of one that had failed.
  package var records: Int
  /// The most memory that the process took, in bytes; nil if that was not measured.
  package var memory: UInt64?
  /// By how much the store grew, in bytes.
  package var bytes: UInt64?
  /// `complete`, `failed`, `cancelled`, or `end not seen` for another program's build that stopped without a report.
  package var outcome: String
  /// The program and process that ran it; this browser if nil.
  package var worker: String?

  /// Records a second.
  var rate: Double? { seconds > 0 && records > 0 ? Double(records) / seconds : nil }

  /// `0:12 · 44 100/s · memory 61 MB · 8.1 MB written`.
  func figures(dot: String) -> String {
    var parts = [TimeText.duration(seconds: seconds)]
    if let rate { parts.append("\(NumberFormat.count(Int(rate)))/s") }
    if let memory { parts.append("memory \(NumberFormat.bytes(memory))") }
    if let bytes { parts.append("\(NumberFormat.bytes(bytes)) written") }
    return parts.joined(separator: " \(dot) ")
  }
}

extension PastBuild {
  /// A run that has ended; nil if it was not a build.
  init?(_ run: WorkRun) {
    guard run.isBuild, let endedAt = run.endedAt else { return nil }
    title = run.title
    startedAt = run.startedAt
    seconds = run.seconds(at: endedAt)
    records = run.activity.counts.records * 2 < run.activity.counts.entries ? 0 : run.activity.counts.records
    memory = run.greatestMemory
    bytes = run.activity.growth
    outcome =
      switch run.ending {
      case .done: "complete"
      case .failed: "failed"
      case .cancelled: "cancelled"
      case nil: "end not seen"
      }
    worker = run.id == nil ? run.activity.worker?.text : nil
  }
}

extension Activity.Worker {
  /// `strata (process 4711 on alpha)`.
  var text: String { "\(program) (process \(processIdentifier)\(host.isEmpty ? "" : " on \(host)"))" }
}

/// Asks what the commits of the past say of builds: maintenance that changed no record for a user.
struct MaintenanceRequest: Question, Equatable {
  static let slot = WorkSlot(name: "maintenance", isSlow: true)
  var history: HistoryEdition

  /// Returns the commits, newest first.
  func reply(in context: WorkContext) throws(ModelError) -> [CommitDetails] {
    let commits = try context.store.commits(from: history.head, limit: Self.limit, folded: false)
    return Array(commits.filter(\.isMaintenance).prefix(10))
  }

  /// How many commits are looked at: a page of the history.
  private static let limit = 200
}

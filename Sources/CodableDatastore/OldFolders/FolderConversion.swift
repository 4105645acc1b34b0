import StrataFolders

/// The report on a conversion of a folder of the original library.
public struct FolderConversion: Hashable, Sendable {
  /// A datastore that was carried over.
  public struct Datastore: Hashable, Sendable {
    /// Its name.
    public var key: DatastoreKey
    /// The number of its instances.
    public var instanceCount: Int
    /// The number of its indexes.
    public var indexCount: Int
  }

  /// An index that is rebuilt at the first warm-up: its entries in the folder do not match the app's types, or cannot be kept truthfully.
  public struct StaleIndex: Hashable, Sendable {
    /// Its datastore.
    public var datastore: DatastoreKey
    /// Its name.
    public var index: IndexName
    /// The reason, as a clause.
    public var reason: String
  }

  /// The datastores, by name.
  public var datastores: [Datastore]
  /// The number of commits that the store begins with.
  public var commitCount: Int
  /// The indexes that are rebuilt.
  public var staleIndexes: [StaleIndex]
  /// Data that was left out because it cannot be read or kept, each as a sentence that names its place.
  public var omissions: [String]
  /// Further facts that are worth knowing.
  public var notes: [String]
  /// The report in lines, as `strata convert` prints it.
  public var lines: [String]

  init(_ report: ConversionReport) {
    datastores = report.datastores.map {
      Datastore(key: DatastoreKey($0.key), instanceCount: $0.recordCount, indexCount: $0.indexCount)
    }
    commitCount = report.commitCount
    staleIndexes = report.staleIndexes.map {
      StaleIndex(datastore: DatastoreKey($0.datastore), index: IndexName($0.index), reason: $0.reason)
    }
    omissions = report.omissions
    notes = report.notes
    lines = report.lines
  }
}

/// The progress of a conversion.
public struct FolderConversionProgress: Hashable, Sendable {
  /// The current step: `checking index n of things`, `commit 12: import`.
  public var title: String
  /// The number of written commits.
  public var done: Int
  /// The number of all commits.
  public var total: Int
  /// The number of written instances and index entries, counted in thousands.
  public var writtenCount: Int

  init(_ progress: FolderProgress) {
    title = progress.title
    done = progress.done
    total = progress.total
    writtenCount = progress.writtenCount
  }
}

/// A closure that receives the progress of a conversion. It is called on the thread that converts, which waits for it.
public typealias FolderConversionHandler = @Sendable (FolderConversionProgress) -> Void

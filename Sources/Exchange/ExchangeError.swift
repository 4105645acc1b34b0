import DatastoreModel
package import StorageEngine

/// Why an exchange came to no end, as a sentence that a user can act on. What was there before is there still.
package enum ExchangeError: Error, Hashable, Sendable {
  /// A line of a stream that is not what it should be; lines count from 1.
  case stream(line: Int, reason: String)
  /// A commit was made on one that is not here, as where compaction has left it out; the sender may send that whole.
  case missing(CommitIdentity, line: Int)
  /// Both copies of a store that was cloned as files have written: one identity, two commits.
  case cloned(CommitIdentity)
  /// The peer speaks another language, said no, or went away; the reason is a sentence.
  case peer(name: String, reason: String)
  /// A text that names no remote.
  case noSuchRemote(String, known: [String])
  case remoteExists(String)
  case invalidRemote(String, reason: String)
  /// The other side's head is no ancestor of what was to be sent.
  case fetchFirst(String)
  /// The two histories have no commit in common.
  case unrelated
  /// What both sides changed, and no policy settles.
  case unsettled(Int)
}

extension ExchangeError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .stream(let line, let reason): "line \(line): \(reason)"
    case .missing(let commit, let line): "line \(line): commit \(commit.text), which it was made on, is missing"
    case .cloned(let commit):
      "commit \(commit.text) is another one there: one store is a copy of the other's files, and both were written since. "
        + "Nothing was taken over; make the copy anew with strata clone or strata copy"
    case .peer(let name, let reason): "\(name): \(reason)"
    case .noSuchRemote(let name, let known):
      "no remote \(name)"
        + (known.isEmpty
          ? "; strata remote PATH add NAME LOCATION adds one" : "; there are \(known.joined(separator: ", "))")
    case .remoteExists(let name): "there is a remote \(name) already"
    case .invalidRemote(let text, let reason): "“\(text)”: \(reason)"
    case .fetchFirst(let name): "\(name) has commits that are not merged here: fetch and merge first"
    case .unrelated: "the two stores have no commit in common; --unrelated merges them all the same"
    case .unsettled(let count):
      "\(count) \(count == 1 ? "conflict is" : "conflicts are") not settled; nothing was written. "
        + "--ours, --theirs or --later settles them"
    }
  }

  /// 1 failed, 2 usage, 3 damaged, 4 locked.
  package var exitStatus: Int32 {
    switch self {
    case .invalidRemote: 2
    default: 1
    }
  }
}

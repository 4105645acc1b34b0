import StrataModel
package import StrataEngine

/// The failure of an exchange, as a sentence that a user can act on. Nothing that was there before is lost.
package enum ExchangeError: Error, Hashable, Sendable, CustomStringConvertible {
  /// A line of a stream that is not what it should be; lines count from 1.
  case stream(line: Int, reason: String)
  /// A commit whose parent is not here, for example because compaction has left it out; the sender may send the commit whole.
  case missing(CommitIdentity, line: Int)
  /// Both copies of a store that was cloned as files have written: one identity, two commits.
  case cloned(CommitIdentity)
  /// The peer speaks another protocol, refused, or went away; the reason is a sentence.
  case peer(name: String, reason: String)
  case noSuchRemote(String, known: [String])
  case remoteExists(String)
  case invalidRemote(String, reason: String)
  /// The other side's head is not an ancestor of the commits to be sent.
  case fetchFirst(String)
  /// The two histories have no commit in common.
  case unrelated
  /// The number of conflicts that no policy settles.
  case unsettled(Int)

  package var description: String {
    switch self {
    case .stream(let line, let reason): "line \(line): \(reason)"
    case .missing(let commit, let line): "line \(line): commit \(commit.text), which it was made on, is missing"
    case .cloned(let commit):
      "commit \(commit.text) is another one there: one store is a copy of the other's files, and both were written since. "
        + "Nothing was taken over; make the copy again with strata clone or strata copy"
    case .peer(let name, let reason): "\(name): \(reason)"
    case .noSuchRemote(let name, let known):
      "no remote \(name)"
        + (known.isEmpty
          ? "; strata remote PATH add NAME LOCATION adds one" : "; there are \(known.joined(separator: ", "))")
    case .remoteExists(let name): "there is a remote \(name) already"
    case .invalidRemote(let text, let reason): "“\(text)”: \(reason)"
    case .fetchFirst(let name): "\(name) has commits that are not merged here: fetch and merge first"
    case .unrelated:
      "the two stores have no commit in common; --unrelated, in an app unrelated: true, merges them all the same"
    case .unsettled(let count):
      "\(count) \(count == 1 ? "conflict is" : "conflicts are") not settled; nothing was written. "
        + "--ours, --theirs or --later settles them"
    }
  }

  /// 1 failed, 2 usage, 3 damaged, 4 locked.
  package var exitStatus: Int32 {
    if case .invalidRemote = self { 2 } else { 1 }
  }
}

import Foundation
import LibraryModel
import UIKit

/// The share extension: sends what is shared as a book to the app.
@MainActor
final class ShareViewController: UIViewController {
  override func viewDidLoad() {
    super.viewDidLoad()
    let title = (extensionContext?.inputItems.first as? NSExtensionItem)?.attributedContentText?.string
    Task {
      do {
        guard let url = LibraryLocation.url, let title else { throw CocoaError(.fileNoSuchFile) }
        try await SharedBook.send(Book(id: UUID().uuidString, title: title), toStoreAt: url)
        extensionContext?.completeRequest(returningItems: nil, completionHandler: nil)
      } catch {
        extensionContext?.cancelRequest(withError: error)
      }
    }
  }
}

import type { Core } from '../../api/core.ts'
import type { loadDashboard } from '../../api/http/dashboard-bundle.ts'
import type { FetchFromSns } from '../../mail-back/smarthost-report/sns-certificates.ts'
import type { WebhookPoster } from '../../notify/webhook/post-webhook.ts'
import type { ConnectionShares } from '../../platform/connection/open-files.ts'
import type { Nodes } from '../../platform/store/nodes.ts'
import type { NodeReporter } from '../../upkeep/node-reporter.ts'

/** What is open before anything starts. */
export interface Opened extends Core {
  shares: ConnectionShares
  version: string
  loadDashboard: typeof loadDashboard
  /** See `RelayEnvironment`. */
  reportPoster?: Pick<WebhookPoster, 'post'> | undefined
  /** See `RelayEnvironment`. */
  fetchFromSns?: FetchFromSns | undefined
  nodes: Nodes
  reporter: NodeReporter
  /** Its name, the owner of what this process has in hand. */
  owner: string
}

import type { Core } from '../../api/core.ts'
import type { loadDashboard } from '../../api/http/dashboard-bundle.ts'
import type { ConnectionShares } from '../../platform/connection/open-files.ts'
import type { Nodes } from '../../platform/store/nodes.ts'

/** What is open before anything starts. */
export interface Opened extends Core {
  shares: ConnectionShares
  version: string
  loadDashboard: typeof loadDashboard
  nodes: Nodes
  /** Its name, the owner of what this process has in hand. */
  owner: string
}

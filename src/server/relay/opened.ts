import type { Core } from '../../api/core.ts'
import type { ConnectionShares } from '../../platform/connection/open-files.ts'

/** What is open before anything starts. */
export interface Opened extends Core {
  shares: ConnectionShares
  version: string
  /** The name under which this process claims. */
  owner: string
}

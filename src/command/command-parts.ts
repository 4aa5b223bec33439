import type { Accounts } from '../account/accounts.ts'
import type { ApiKeys } from '../account/api-keys.ts'
import type { AuditLog } from '../account/audit-log.ts'
import type { People } from '../account/people.ts'
import type { Clock } from '../clock.ts'
import type { Config } from '../config/settings.ts'
import type { Erasures } from '../erasure/erasures.ts'
import type { DnsResolver } from '../dns/dns-resolver.ts'
import type { Health } from '../health.ts'
import type { Log } from '../log.ts'
import type { QueueAdmin } from '../queue/queue-admin.ts'
import type { SendingDomains } from '../sending-domain/sending-domains.ts'
import type { Database } from '../store/database.ts'
import type { ErasedAddress } from '../suppression/erased-address.ts'
import type { TemplateList } from '../template/template-list.ts'
import type { WebhookList } from '../webhook/webhook-list.ts'

/** What commands work on: the services of a serving process, or of a command that opened the store itself. */
export interface CommandParts {
  config: Config
  db: Database
  clock: Clock
  log: Log
  health: Health
  resolver: DnsResolver
  accounts: Accounts
  apiKeys: ApiKeys
  people: People
  audit: AuditLog
  sendingDomains: SendingDomains
  templates: TemplateList
  webhooks: WebhookList
  queueAdmin: QueueAdmin
  erasedAddress: ErasedAddress
  erasures: Erasures
}

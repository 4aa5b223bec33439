import type { RefusedLogins } from '../account/refused-logins.ts'
import type { ConnectionShares } from '../connection/open-files.ts'
import type { Erasures } from '../erasure/erasures.ts'
import type { EventFollower } from '../event/event-follower.ts'
import type { LogReader } from '../event/log-reader.ts'
import type { IncomingReports } from '../feedback/incoming-reports.ts'
import type { EmailComposer } from '../http/api/email-composer.ts'
import type { RateLimit } from '../http/rate-limit.ts'
import type { MessageParser } from '../message/message-parser.ts'
import type { HitRecorder } from '../engagement/hit-recorder.ts'
import type { QueueAdmin } from '../queue/queue-admin.ts'
import type { QueueRunner } from '../queue/queue-runner.ts'
import type { AcceptParts } from '../submission/accept.ts'
import type { FreeSpace } from '../submission/free-space.ts'
import type { Certificate } from '../smtp-server/self-signed-certificate.ts'
import type { CertifiedNames } from '../tracking/certified-names.ts'
import type { TemplateList } from '../template/template-list.ts'
import type { Webhooks } from '../webhook/open-webhooks.ts'

/** What ends a part that was started; the part started last ends first. */
export type Stop = () => Promise<unknown> | void

/** What stands behind the doors. */
export interface Inside {
  webhooks: Webhooks
  follower: EventFollower
  queue: QueueRunner
  queueAdmin: QueueAdmin
  erasures: Erasures
  rollup: LogReader
  space: FreeSpace
  /** Through which every message gets in. */
  door: AcceptParts
  hits: HitRecorder
  /** Of the names that browsers find a valid certificate for. */
  certified: CertifiedNames
  /** What comes back by mail. */
  reports: IncomingReports
  shares: ConnectionShares
  version: string
}

/** What the doors are opened with. */
export interface DoorFrame {
  messageParser: MessageParser
  templates: TemplateList
  composer: EmailComposer
  rateLimit: RateLimit
  refusedLogins: RefusedLogins
  tls: Certificate
}

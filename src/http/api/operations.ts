import type { ApiKeys } from '../../account/api-keys.ts'
import type { AuditLog } from '../../account/audit-log.ts'
import type { Sessions } from '../../account/sessions.ts'
import type { Config } from '../../config/settings.ts'
import type { EventFeed } from '../../event/event-feed.ts'
import type { SendingDomains } from '../../sending-domain/sending-domains.ts'
import type { SuppressionEntries } from '../../suppression/suppression-entries.ts'
import type { TemplateList } from '../../template/template-list.ts'
import type { Webhooks } from '../../webhook/open-webhooks.ts'
import type { AuthenticateParts } from '../authenticate.ts'
import type { EventStreams } from '../event-streams.ts'
import type { Operation } from '../operation.ts'
import { accountOperations, type AccountParts } from './account-operations.ts'
import { analyticsOperations } from './analytics-operations.ts'
import type { AnalyticsParts } from './analytics-query.ts'
import { apiKeyOperations, type ApiKeyParts } from './api-key-operations.ts'
import { auditOperations } from './audit-operations.ts'
import { doctorOperations, type DoctorOperationsParts } from './doctor-operations.ts'
import { domainOperations } from './domain-operations.ts'
import { domainReportOperations, type DomainReportParts } from './domain-report-operations.ts'
import { emailOperations, type EmailParts } from './email-operations.ts'
import { entryOperations } from './entry-operations.ts'
import { erasureOperations, type ErasureParts } from './erasure-operations.ts'
import { eventOperations } from './event-operations.ts'
import { explainOperations, type ExplainOperationParts } from './explain-operations.ts'
import { feedbackOperations, type FeedbackOperationParts } from './feedback-operations.ts'
import { metricsOperations, type MetricsParts } from './metrics-operations.ts'
import { passwordOperations, type PasswordParts } from './password-operations.ts'
import { queueOperations, type QueueParts } from './queue-operations.ts'
import { serverDomainOperations } from './server-domain-operations.ts'
import { sessionOperations, type SessionParts } from './session-operations.ts'
import { settingOperations } from './setting-operations.ts'
import { suppressionOperations } from './suppression-operations.ts'
import { suppressionPolicyOperations, type SuppressionPolicyParts } from './suppression-policy-operations.ts'
import { templateOperations } from './template-operations.ts'
import { unsubscribeOperations, type UnsubscribeParts } from './unsubscribe-operations.ts'
import { userOperations, type UserParts } from './user-operations.ts'
import { webhookOperations } from './webhook-operations.ts'

/** What the endpoints of the API need, each resource its own. */
export interface ApiParts
  extends
    AnalyticsParts,
    AuthenticateParts,
    DoctorOperationsParts,
    DomainReportParts,
    EmailParts,
    ErasureParts,
    ExplainOperationParts,
    FeedbackOperationParts,
    MetricsParts,
    QueueParts,
    AccountParts,
    ApiKeyParts,
    PasswordParts,
    SessionParts,
    SuppressionPolicyParts,
    UnsubscribeParts,
    UserParts {
  apiKeys: ApiKeys
  audit: AuditLog
  config: Config
  eventFeed: EventFeed
  eventStreams: EventStreams
  sendingDomains: SendingDomains
  sessions: Sessions
  suppressions: SuppressionEntries
  templates: TemplateList
  webhooks: Webhooks
}

/**
 * Every endpoint of the API. The parts are first touched when a request comes, so that the OpenAPI document can be made
 * without a server.
 */
export function apiOperations(parts: ApiParts): Operation[] {
  return [
    // `/api/emails/metrics` stands before `/api/emails/{id}`.
    ...analyticsOperations(parts),
    ...emailOperations(parts),
    ...domainOperations(parts),
    ...domainReportOperations(parts),
    ...templateOperations(parts),
    ...webhookOperations(parts),
    ...suppressionOperations(parts),
    ...erasureOperations(parts),
    ...feedbackOperations(parts),
    ...eventOperations(parts),
    ...apiKeyOperations(parts),
    ...accountOperations(parts),
    ...suppressionPolicyOperations(parts),
    ...userOperations(parts),
    ...auditOperations(parts),
    ...queueOperations(parts),
    ...explainOperations(parts),
    ...settingOperations(parts),
    ...serverDomainOperations(parts),
    ...doctorOperations(parts),
    ...metricsOperations(parts),
    ...sessionOperations(parts),
    ...passwordOperations(parts),
    ...entryOperations(parts),
    ...unsubscribeOperations(parts),
  ]
}

import type { ApiKeys } from '../../senders/account/api-keys.ts'
import type { AuditLog } from '../../senders/account/audit-log.ts'
import type { Sessions } from '../../senders/account/sessions.ts'
import type { Config } from '../../platform/config/settings.ts'
import type { EmailChanges } from '../../mail/event/email-changes.ts'
import type { EventFeed } from '../../mail/event/event-feed.ts'
import type { SendingDomains } from '../../senders/sending-domain/sending-domains.ts'
import type { SuppressionEntries } from '../../mail/suppression/suppression-entries.ts'
import type { TemplateList } from '../../mail/template/template-list.ts'
import type { Webhooks } from '../../notify/webhook/open-webhooks.ts'
import type { AuthenticateServices } from '../operation/authenticate.ts'
import type { EventStreams } from './event-streams.ts'
import type { Operation } from '../operation/operation.ts'
import { accountPolicyOperations, type AccountPolicyServices } from './account-policy-operations.ts'
import { accountOperations, type AccountServices } from './account-operations.ts'
import { analyticsOperations } from './analytics-operations.ts'
import type { AnalyticsServices } from './analytics-query.ts'
import { apiKeyOperations, type ApiKeyServices } from './api-key-operations.ts'
import { auditOperations } from './audit-operations.ts'
import { doctorOperations, type DoctorOperationsServices } from './doctor-operations.ts'
import { domainOperations, type DomainOperationsServices } from './domain-operations.ts'
import { domainReportOperations, type DomainReportServices } from './domain-report-operations.ts'
import { emailDeliveryOperations } from './email-delivery-operations.ts'
import { emailOperations, type EmailServices } from './email-operations.ts'
import { entryOperations } from './entry-operations.ts'
import { erasureOperations, type ErasureServices } from './erasure-operations.ts'
import { eventOperations } from './event-operations.ts'
import { explainOperations, type ExplainOperationServices } from './explain-operations.ts'
import { feedbackOperations, type FeedbackOperationServices } from './feedback-operations.ts'
import { findOperations } from './find-operations.ts'
import { metricsOperations, type MetricsServices } from './metrics-operations.ts'
import { passkeyOperations, type PasskeyServices } from './passkey-operations.ts'
import { passwordOperations, type PasswordServices } from './password-operations.ts'
import { previewOperations, type PreviewServices } from './preview-operations.ts'
import { queueOperations, type QueueServices } from './queue-operations.ts'
import { quotaOperations, type QuotaServices } from './quota-operations.ts'
import { serverAddressOperations } from './server-address-operations.ts'
import { serverDomainOperations } from './server-domain-operations.ts'
import { sessionOperations, type SessionServices } from './session-operations.ts'
import { settingOperations } from './setting-operations.ts'
import { suppressionOperations } from './suppression-operations.ts'
import { templateOperations } from './template-operations.ts'
import { unsubscribeOperations, type UnsubscribeServices } from './unsubscribe-operations.ts'
import { userOperations, type UserServices } from './user-operations.ts'
import { webhookOperations } from './webhook-operations.ts'

/** What the endpoints of the API need; each resource uses its own. */
export interface ApiServices
  extends
    AnalyticsServices,
    AuthenticateServices,
    DoctorOperationsServices,
    DomainReportServices,
    EmailServices,
    ErasureServices,
    ExplainOperationServices,
    FeedbackOperationServices,
    MetricsServices,
    QueueServices,
    AccountServices,
    ApiKeyServices,
    DomainOperationsServices,
    PasskeyServices,
    PasswordServices,
    PreviewServices,
    QuotaServices,
    SessionServices,
    AccountPolicyServices,
    UnsubscribeServices,
    UserServices {
  apiKeys: ApiKeys
  /** The path of the dashboard, without a final slash; null where there is none. */
  dashboardPath: string | null
  audit: AuditLog
  config: Config
  eventFeed: EventFeed
  emailChanges: EmailChanges
  eventStreams: EventStreams
  sendingDomains: SendingDomains
  sessions: Sessions
  suppressions: SuppressionEntries
  templates: TemplateList
  webhooks: Webhooks
}

/**
 * Every endpoint of the API. The services are not touched before the first request, so the OpenAPI document can be made without a
 * server.
 */
export function apiOperations(services: ApiServices): Operation[] {
  return [
    // `/api/emails/metrics` must come before `/api/emails/{id}`.
    ...analyticsOperations(services),
    ...emailOperations(services),
    ...previewOperations(services),
    ...domainOperations(services),
    ...domainReportOperations(services),
    ...templateOperations(services),
    ...webhookOperations(services),
    ...emailDeliveryOperations(services),
    ...suppressionOperations(services),
    ...erasureOperations(services),
    ...feedbackOperations(services),
    ...eventOperations(services),
    ...findOperations(services),
    ...apiKeyOperations(services),
    ...accountOperations(services),
    ...quotaOperations(services),
    ...accountPolicyOperations(services),
    ...userOperations(services),
    ...auditOperations(services),
    ...queueOperations(services),
    ...explainOperations(services),
    ...settingOperations(services),
    ...serverAddressOperations(services),
    ...serverDomainOperations(services),
    ...doctorOperations(services),
    ...metricsOperations(services),
    ...sessionOperations(services),
    ...passwordOperations(services),
    ...passkeyOperations(services),
    ...entryOperations(services),
    ...unsubscribeOperations(services),
  ]
}

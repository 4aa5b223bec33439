import type { apiKey } from '../../../api/resource/api-key-operations.ts'
import type { serverAddress } from '../../../api/resource/server-address-operations.ts'
import type { settingAnswer } from '../../../api/resource/setting-operations.ts'
import type { latencyAnswer } from '../../../api/resource/analytics-latency-operations.ts'
import type { metricsAnswer } from '../../../api/resource/analytics-operations.ts'
import type { doctorResource } from '../../../api/resource/doctor-operations.ts'
import type { domainReport, domainReportRow } from '../../../api/resource/domain-report-resource.ts'
import type { dmarcSummaryAnswer, tlsSummary } from '../../../api/resource/domain-report-summary-resource.ts'
import type { feedbackReport, feedbackReportDetail } from '../../../api/resource/feedback-resource.ts'
import type { suppression } from '../../../api/resource/suppression-operations.ts'
import type { explanation } from '../../../api/resource/explain-operations.ts'
import type { detailAnswer, queueDestination, queuedRecipient, totalsAnswer } from '../../../api/resource/queue-operations.ts'
import type { serverDomain } from '../../../api/resource/server-domain-operations.ts'
import type { emailDelivery } from '../../../api/resource/webhook-delivery-operations.ts'
import type { webhookTest } from '../../../api/resource/webhook-operations.ts'
import type { postedDetails, webhookDelivery, webhookInUse } from '../../../api/resource/webhook-resource.ts'
import type { passkeyResource } from '../../../api/resource/passkey-operations.ts'
import type { sessionItem, sessionResource } from '../../../api/resource/session-operations.ts'
import type { renderedAnswer, templateItem, templateResource } from '../../../api/resource/template-resource.ts'
import type {
  diffAnswer,
  publishedAnswer,
  templateDependent,
  templateVersionItem,
} from '../../../api/resource/template-version-resource.ts'
import type { accountResource } from '../../../api/resource/account-operations.ts'
import type { auditEntry } from '../../../api/resource/audit-operations.ts'
import type { invitedUser, userResource } from '../../../api/resource/user-operations.ts'
import type { checksAnswer } from '../../../api/resource/email-check-operations.ts'
import type { headerField } from '../../../api/resource/email-source-operations.ts'
import type { attachmentResource, attemptResource, emailItem, emailResource } from '../../../api/resource/email-resource.ts'
import type { domainSchema } from '../../../api/resource/domain-resource.ts'

// What the API answers, taken from its own declarations: a changed answer breaks the type check of what shows it.

/** What a schema of the server lets through. */
type Shown<S extends { _zod: { output: unknown } }> = S['_zod']['output']

export interface List<T> {
  object: 'list'
  has_more: boolean
  data: T[]
  /** Where a search stopped that may go on: the oldest object that it looked at. */
  stopped_at?: { id: string; created_at: string } | undefined
}

export type EmailItem = Shown<typeof emailItem.schema>
export type Email = Shown<typeof emailResource.schema>
export type EmailRecipient = Email['recipients'][number]
export type Attempt = Shown<typeof attemptResource.schema>
export type Explanation = Attempt['explanation']
export type EmailChecks = Shown<typeof checksAnswer>
export type HeaderField = Shown<typeof headerField>
export type Attachment = Shown<typeof attachmentResource.schema>

/** An event of an email; what is in `data` besides depends on the type. */
export interface MailEvent {
  id: string
  type: string
  created_at: string
  data: {
    email_id: string
    to: string
    reason?: string
    next_attempt_at?: string
    bounce_type?: string
    bounce_category?: string
    /** The service that says so, or the source of a complaint. */
    reported_by?: string | null
    bot?: boolean
    user_agent?: string | null
    link?: string
  }
}

export type DmarcSummary = Shown<typeof dmarcSummaryAnswer>
export type Domain = Shown<typeof domainSchema>
export type DomainRecord = Domain['records'][number]
export type User = Shown<typeof userResource.schema>
export type InvitedUser = Shown<typeof invitedUser.schema>
export type Account = Shown<typeof accountResource.schema>
export type AuditEntry = Shown<typeof auditEntry.schema>

export type TemplateItem = Shown<typeof templateItem.schema>
export type Template = Shown<typeof templateResource.schema>
export type RenderedTemplate = Shown<typeof renderedAnswer>
export type TemplateVersionItem = Shown<typeof templateVersionItem.schema>
export type TemplateDiff = Shown<typeof diffAnswer>
export type PublishedTemplate = Shown<typeof publishedAnswer>
export type TemplateDependent = Shown<typeof templateDependent.schema>

export type DmarcSource = DmarcSummary['sources'][number]
export type TlsSummary = Shown<typeof tlsSummary.schema>
export type DomainReport = Shown<typeof domainReport.schema>
export type DomainReportRow = Shown<typeof domainReportRow>
export type Feedback = Shown<typeof feedbackReport.schema>
export type FeedbackDetail = Shown<typeof feedbackReportDetail.schema>
export type Suppression = Shown<typeof suppression.schema>
export type QueueDestination = Shown<typeof queueDestination.schema>
export type QueueTotals = Shown<typeof totalsAnswer>
export type QueueDetail = Shown<typeof detailAnswer>
export type QueuedRecipient = Shown<typeof queuedRecipient.schema>
export type Route = Shown<typeof explanation>
export type ServerDomain = Shown<typeof serverDomain>
/** The secret is there for those who may change it. */
export type Webhook = Shown<typeof webhookInUse.schema> & { signing_secret?: string }
export type EmailDelivery = Shown<typeof emailDelivery.schema>
export type WebhookDelivery = Shown<typeof webhookDelivery.schema>
export type WebhookDeliveryDetail = WebhookDelivery & Shown<typeof postedDetails.schema>
export type WebhookTest = Shown<typeof webhookTest.schema>

export type Setting = Shown<typeof settingAnswer>

export type Doctor = Shown<typeof doctorResource.schema>
export type ServerAddress = Shown<typeof serverAddress>
export type Session = Shown<typeof sessionResource.schema>
export type Passkey = Shown<typeof passkeyResource.schema>
export type SessionItem = Shown<typeof sessionItem.schema>

export type ApiKey = Shown<typeof apiKey.schema>

export type Metrics = Shown<typeof metricsAnswer>
export type MetricsRow = NonNullable<Metrics['data']>[number]
export type Latency = Shown<typeof latencyAnswer>

/** What the API says where it refuses. */
export interface Problem {
  status: number
  /** The name of the error, such as `rate_limit_exceeded`. */
  name: string
  message: string
  request_id?: string
  errors?: { field: string; message: string }[]
}

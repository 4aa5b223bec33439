import type { Operation } from '../operation/operation.ts'
import type { ApiServices } from './operation-services.ts'
import { accountPolicyOperations } from './account-policy-operations.ts'
import { accountOperations } from './account-operations.ts'
import { analyticsOperations } from './analytics-operations.ts'
import { apiKeyOperations } from './api-key-operations.ts'
import { auditOperations } from './audit-operations.ts'
import { doctorOperations } from './doctor-operations.ts'
import { domainOperations } from './domain-operations.ts'
import { domainReportOperations } from './domain-report-operations.ts'
import { emailOperations } from './email-operations.ts'
import { entryOperations } from './entry-operations.ts'
import { erasureOperations } from './erasure-operations.ts'
import { eventOperations } from './event-operations.ts'
import { explainOperations } from './explain-operations.ts'
import { feedbackOperations } from './feedback-operations.ts'
import { findOperations } from './find-operations.ts'
import { metricsOperations } from './metrics-operations.ts'
import { smarthostReportOperations } from './smarthost-report-operations.ts'
import { namedSmarthostOperations } from './named-smarthost-operations.ts'
import { routeOperations } from './route-operations.ts'
import { smarthostOperations } from './smarthost-operations.ts'
import { mtaStsOperations } from './mta-sts-operations.ts'
import { shapingOperations } from './shaping-operations.ts'
import { nodeOperations } from './node-operations.ts'
import { passkeyOperations } from './passkey-operations.ts'
import { passwordOperations } from './password-operations.ts'
import { previewOperations } from './preview-operations.ts'
import { queueOperations } from './queue-operations.ts'
import { quotaOperations } from './quota-operations.ts'
import { serverAddressOperations } from './server-address-operations.ts'
import { serverDomainOperations } from './server-domain-operations.ts'
import { sessionOperations } from './session-operations.ts'
import { settingOperations } from './setting-operations.ts'
import { suppressionOperations } from './suppression-operations.ts'
import { templateOperations } from './template-operations.ts'
import { tlsReportOperations } from './tls-report-operations.ts'
import { unsubscribeOperations } from './unsubscribe-operations.ts'
import { userOperations } from './user-operations.ts'
import { emailDeliveryOperations } from './webhook-delivery-operations.ts'
import { webhookOperations } from './webhook-operations.ts'

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
    ...nodeOperations(services),
    ...tlsReportOperations(services),
    ...mtaStsOperations(services),
    ...shapingOperations(services),
    ...smarthostOperations(services),
    ...smarthostReportOperations(services),
    ...namedSmarthostOperations(services),
    ...routeOperations(services),
    ...metricsOperations(services),
    ...sessionOperations(services),
    ...passwordOperations(services),
    ...passkeyOperations(services),
    ...entryOperations(services),
    ...unsubscribeOperations(services),
  ]
}

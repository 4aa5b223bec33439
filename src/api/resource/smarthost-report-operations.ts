import { z } from 'zod'
import { signatureFields } from '../../mail-back/smarthost-report/verify-report.ts'
import { reportServices, type ReportService } from '../../platform/config/report-services.ts'
import { SternaError } from '../../platform/errors.ts'
import { clientNetwork } from '../../platform/ip-address.ts'
import { originOf, type Caller } from '../operation/caller.ts'
import type { Operation } from '../operation/operation.ts'
import { operationsAt } from '../operation/operations-at.ts'
import type { Needs } from './operation-services.ts'

type Services = Needs<'smarthostReports' | 'failedAuthentications' | 'metrics'>

const takenReports = z
  .object({
    object: z.literal('smarthost_reports'),
    taken: z.int().describe('Reports that were stored; they are settled next.'),
    ignored: z.int().describe('Events that change nothing, such as opens, or are not about mail of this server.'),
  })
  .meta({ id: 'SmarthostReports' })

/** The body that each service posts: only the members that tell what it is. */
const bodies: Record<ReportService, { schema: z.ZodType<object>; limit: number; example: object }> = {
  ses: {
    schema: z.looseObject({
      Type: z.string().describe('`Notification` or `SubscriptionConfirmation`.'),
      TopicArn: z.string().describe('The topic of `delivery.smarthost_reports_key`.'),
      Message: z.string().describe('The event of SES, as JSON in a text.'),
    }),
    // SNS sends up to 256 KiB, which quoting makes longer.
    limit: 512 * 1024,
    example: { Type: 'Notification', TopicArn: 'arn:aws:sns:eu-central-1:123456789012:ses-events', Message: '{"eventType":"Delivery"}' },
  },
  postmark: {
    schema: z.looseObject({ RecordType: z.string().describe('`Delivery`, `Bounce`, `SpamComplaint` or `SubscriptionChange`.') }),
    // It has the content of a bounce.
    limit: 4 * 1024 * 1024,
    example: { RecordType: 'Delivery', Recipient: 'user@example.com' },
  },
  mailgun: {
    schema: z.looseObject({
      signature: z.looseObject({ timestamp: z.string(), token: z.string(), signature: z.string() }),
      'event-data': z.looseObject({ event: z.string() }),
    }),
    limit: 512 * 1024,
    example: {
      signature: { timestamp: '1795240455', token: '0f2c', signature: '9b1d' },
      'event-data': { event: 'delivered', recipient: 'user@example.com' },
    },
  },
  sendgrid: {
    schema: z.array(z.looseObject({ event: z.string(), email: z.string() })),
    // A batch of some thousand events.
    limit: 4 * 1024 * 1024,
    example: [{ event: 'delivered', email: 'user@example.com' }],
  },
}

const at = operationsAt({ path: '/inbound/reports', tag: 'Feedback', permission: null, headers: signatureFields })

/** `/inbound/reports/…`: where the service that takes our mail reports what became of it. */
export const smarthostReportOperations = (services: Services): Operation[] =>
  reportServices.map((service) =>
    at.post(`smarthost_reports.${service}`, `/${service}`, `Take reports of ${service}`, {
      description:
        'For the webhooks of the service that `delivery.smarthost_reports` names. A request counts only if its signature or password ' +
        'proves that it comes from that service. Its reports are listed at `/api/feedback`.',
      body: { ...bodies[service], as: 'text' },
      answer: ['How many reports were taken.', takenReports],
      refuses: [
        'unverified_report',
        'not_found',
        'payload_too_large',
        'rate_limit_exceeded',
        'service_unavailable',
        'insufficient_storage',
      ],
      admit() {
        services.smarthostReports.require(service)
      },
      handle: async ({ body, headers, caller }) => {
        try {
          const taken = await services.smarthostReports.take(service, { body, headers, address: originOf(caller).address })
          return { object: 'smarthost_reports' as const, ...taken }
        } catch (error) {
          if (error instanceof SternaError && error.code === 'unverified_report') await limitUnverified(caller, services)
          throw error
        }
      },
    }),
  )

/** The network is not shut out: requests with a proof still count. */
async function limitUnverified(caller: Caller, { failedAuthentications, metrics }: Services): Promise<void> {
  const waitMs = await failedAuthentications.take(clientNetwork(originOf(caller).address))
  if (waitMs === 0) return
  metrics.rateLimits.failed_authentications.add()
  const message = 'Too many requests from your address had no valid signature or password. Those that have one are still accepted.'
  throw new SternaError('rate_limit_exceeded', message, { retryAfter: waitMs / 1000 })
}

import type { ReportService } from '../../platform/config/report-services.ts'
import { objectOf, textOf, type JsonObject } from '../../platform/json-values.ts'
import { parseJsonText } from '../../platform/parse-json.ts'
import { readMailgunEvent } from './mailgun-report.ts'
import { readPostmarkEvent } from './postmark-report.ts'
import { readSendgridEvent } from './sendgrid-report.ts'
import { readSesEvent } from './ses-report.ts'
import type { ReadEvent, SmarthostReport } from './smarthost-report.ts'

/** What a request of a service says. */
export interface ParsedReports {
  reports: SmarthostReport[]
  /** Events that change nothing, or are not about mail of ours. */
  ignored: number
}

const readers: Record<ReportService, ReadEvent> = {
  ses: readSesEvent,
  postmark: readPostmarkEvent,
  mailgun: readMailgunEvent,
  sendgrid: readSendgridEvent,
}

/**
 * Parses the body of a request.
 * @throws SternaError `invalid_json`
 */
export function parseSmarthostReports(service: ReportService, body: string): ParsedReports {
  const events = eventsIn(service, parseJsonText(body))
  const reports = events.map(readers[service]).filter(isReport)
  return { reports, ignored: events.length - reports.length }
}

const isReport = (read: ReturnType<ReadEvent>): read is SmarthostReport => read.reference !== '' && read.said !== null

/** SendGrid sends a batch; what SES says is JSON in a member of the message of SNS. */
function eventsIn(service: ReportService, body: unknown): JsonObject[] {
  if (service === 'sendgrid') return Array.isArray(body) ? body.map(objectOf) : []
  const event = objectOf(body)
  return [service === 'ses' ? objectOf(jsonIn(textOf(event['Message']))) : event]
}

/** SES sends a test in plain words. */
function jsonIn(text: string): unknown {
  try {
    return parseJsonText(text)
  } catch {
    return null
  }
}

import { messageOf } from '../../platform/errors.ts'
import { mimeLeaves, type MimeLeaf } from '../../mail/message/mime-leaves.ts'
import { repairedMail } from '../../mail/message/repaired-mail.ts'
import { maxRows, ReportFault, type DomainReport } from './domain-report.ts'
import { parseDmarcReport } from './parse-dmarc-report.ts'
import { parseTlsReport } from './parse-tls-report.ts'
import { maxReportBytes, maybeReport, unpackReport } from './unpack-report.ts'

/** Attachments read per message. Almost all receivers send one. */
const maxAttachments = 10

/** The reports in a message. */
export interface ReportMail {
  reports: DomainReport[]
  /** One sentence for each part that could not be parsed. */
  faults: string[]
}

/**
 * Parses the reports attached to a message, or its body if that is a report. All together may unpack to the size limit of one. The content
 * decides the type of a part, because declared types and file names are often wrong. Run it in a process that may be killed.
 * @throws Error if the message cannot be parsed
 */
export async function readReportMail(mail: Buffer): Promise<ReportMail> {
  const { leaves } = await mimeLeaves(repairedMail(mail))
  const attached = leaves.filter(isCandidate)
  if (attached.length === 0) return { reports: [], faults: ['The message contains no report.'] }
  const found: ReportMail = { reports: [], faults: [] }
  let room = maxReportBytes
  for (const { content } of attached.slice(0, maxAttachments)) {
    try {
      const { language, text, size } = await unpackReport(content, room)
      room -= size
      found.reports.push(...(language === 'xml' ? [parseDmarcReport(text)] : parseTlsReport(text)))
    } catch (error) {
      if (!(error instanceof ReportFault)) throw error
      found.faults.push(messageOf(error))
    }
  }
  if (attached.length > maxAttachments) found.faults.push(`The message has more than ${maxAttachments} reports.`)
  return { ...found, reports: withinBounds(found.reports) }
}

/** The cover text may look like the start of a report. */
const isCandidate = ({ contentType, content }: MimeLeaf): boolean => !/^(?:text\/html|message\/)/i.test(contentType) && maybeReport(content)

/** Applies the row limit of one report to all reports of a message. */
function withinBounds(reports: DomainReport[]): DomainReport[] {
  let left = maxRows
  return reports.map((report) => {
    const kept = Math.min(left, report.rows.length)
    left -= kept
    return { ...report, rows: report.rows.slice(0, kept), rowsLeftOut: report.rowsLeftOut + report.rows.length - kept } as DomainReport
  })
}

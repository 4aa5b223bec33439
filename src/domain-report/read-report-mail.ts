import { messageOf } from '../errors.ts'
import { mimeLeaves, type MimeLeaf } from '../message/mime-leaves.ts'
import { repairedMail } from '../message/repaired-mail.ts'
import { mostRows, ReportFault, type DomainReport } from './domain-report.ts'
import { parseDmarcReport } from './parse-dmarc-report.ts'
import { parseTlsReport } from './parse-tls-report.ts'
import { largestReport, maybeReport, unpackReport } from './unpack-report.ts'

/** Attachments of one mail that are looked into; all receivers but a few send one. */
const mostAttachments = 10

/** What a mail reports. */
export interface ReportMail {
  reports: DomainReport[]
  /** What is wrong with the parts that could not be read, a sentence each. */
  faults: string[]
}

/**
 * Parses the reports that are attached to a mail, or are its body; together they may unpack to the size of one. The content decides the
 * type of a part, because declared types and file names are wrong too often. For a process that may be killed.
 * @throws Error if the mail cannot be parsed
 */
export async function readReportMail(mail: Buffer): Promise<ReportMail> {
  const { leaves } = await mimeLeaves(repairedMail(mail))
  const attached = leaves.filter(isCandidate)
  if (attached.length === 0) return { reports: [], faults: ['Nothing in the mail is a report.'] }
  const found: ReportMail = { reports: [], faults: [] }
  let room = largestReport
  for (const { content } of attached.slice(0, mostAttachments)) {
    try {
      const { language, text, size } = await unpackReport(content, room)
      room -= size
      found.reports.push(...(language === 'xml' ? [parseDmarcReport(text)] : parseTlsReport(text)))
    } catch (error) {
      if (!(error instanceof ReportFault)) throw error
      found.faults.push(messageOf(error))
    }
  }
  if (attached.length > mostAttachments) found.faults.push(`The mail has more than ${mostAttachments} reports.`)
  return { ...found, reports: withinBounds(found.reports) }
}

/** The text for people beside a report may begin like one. */
const isCandidate = ({ contentType, content }: MimeLeaf): boolean => !/^(?:text\/html|message\/)/i.test(contentType) && maybeReport(content)

/** As many rows as one report may have, for all of a mail. */
function withinBounds(reports: DomainReport[]): DomainReport[] {
  let left = mostRows
  return reports.map((report) => {
    const kept = Math.min(left, report.rows.length)
    left -= kept
    return { ...report, rows: report.rows.slice(0, kept), rowsLeftOut: report.rowsLeftOut + report.rows.length - kept } as DomainReport
  })
}

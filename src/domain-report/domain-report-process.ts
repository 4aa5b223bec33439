import { readUntrusted } from '../untrusted-reader-child.ts'
import { readReportMail } from './read-report-mail.ts'

/** Reads mail that nobody has vouched for. Started, and killed where needed, by domain-report-reader.ts. */

readUntrusted((mail) => readReportMail(mail))

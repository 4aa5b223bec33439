import { readUntrusted } from '../untrusted-reader-child.ts'
import { readReportMail } from './read-report-mail.ts'

/** Parses mail that nobody has vouched for. domain-report-reader.ts starts it, and kills it if necessary. */

readUntrusted((mail) => readReportMail(mail))

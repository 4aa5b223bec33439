import { readUntrusted } from '../../platform/untrusted-reader-child.ts'
import { readReportMail } from './read-report-mail.ts'

/** The child process that parses domain reports. `domain-report-reader.ts` starts and kills it. */

readUntrusted((mail) => readReportMail(mail))

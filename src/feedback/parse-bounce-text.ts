import { classifyRefusal } from '../bounce/classify-refusal.ts'
import { parseDiagnostic } from './diagnostic.ts'
import type { ReportedRecipient } from './feedback-report.ts'
import { reportedAddress } from './report-address.ts'
import { headerValue } from './returned-message.ts'
import type { ReturnedMessage } from './returned-message.ts'

/** What a bounce without a delivery status says of its recipients; none where it is no bounce. */
export function parseBounceText(message: ReturnedMessage): ReportedRecipient[] {
  const { code, enhancedCode, text } = parseDiagnostic(message.parts[0]?.content.slice(0, 1000) ?? '')
  const addresses = headerValue(message, 'x-failed-recipients').split(',').map(reportedAddress)
  return addresses
    .filter((address) => address !== null)
    .map((address) => {
      const { category, hard } = classifyRefusal({ code, enhancedCode, text, remoteHost: null, phase: 'report' })
      return { address, action: 'failed', hard, status: enhancedCode, category, smtpCode: code, reason: text }
    })
}

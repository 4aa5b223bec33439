import { germanDmarcReasons } from './de-dmarc-reasons.ts'
import { germanFindings } from './de-findings.ts'
import type { LaterTexts } from './said.ts'

export const germanLater: LaterTexts = { findings: germanFindings, dmarc: germanDmarcReasons }

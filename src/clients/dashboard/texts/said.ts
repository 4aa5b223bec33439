import type { DmarcSummary, Doctor, EmailChecks, Explanation } from '../api/types.ts'

/** What a code of the API says, with `{name}` for its parameters. */
export interface Said {
  what: string
  advice?: string
}

export type SaidIn<Code extends string> = Record<Code, Said>

/** What the API says in English, in another language. A code without a text does not pass the type check. */
export interface SaidTexts {
  advice: SaidIn<Exclude<Explanation['advice_codes'][number], Explanation['code']>>
  causes: SaidIn<Explanation['code']>
  content: SaidIn<EmailChecks['findings'][number]['code']>
  loadLater(): Promise<LaterTexts>
}

/** Loaded with the pages that show them. */
export interface LaterTexts {
  findings: SaidIn<Doctor['findings'][number]['code']>
  dmarc: SaidIn<DmarcSummary['advice']['reason_codes'][number]['code']>
}

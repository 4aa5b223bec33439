import type { DmarcSummary, Doctor, EmailChecks } from '../api/types.ts'

/** What a code of the API says, with `{name}` for its parameters. */
export interface Said {
  what: string
  advice?: string
}

export type SaidIn<Code extends string> = Record<Code, Said>

/** What the API says in English, in another language. A code without a text does not pass the type check. */
export interface SaidTexts {
  content: SaidIn<EmailChecks['findings'][number]['code']>
  findings: SaidIn<Doctor['findings'][number]['code']>
  dmarc: SaidIn<DmarcSummary['advice']['reason_codes'][number]['code']>
}

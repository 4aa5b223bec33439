import type { DmarcSummary } from '../api/types.ts'
import type { SaidIn } from './said.ts'

/** What the advice on a domain's DMARC policy rests on. */
export const germanDmarcReasons: SaidIn<DmarcSummary['advice']['reason_codes'][number]['code']> = {
  record_missing: { what: 'Die Domain hat keinen DMARC-Eintrag, deshalb berichtet niemand über sie, und große Empfänger misstrauen ihr.' },
  record_several: { what: 'Die Domain hat mehrere DMARC-Einträge, deshalb beachten Empfänger keinen. Behalten Sie einen.' },
  record_quoted: {
    what: 'Der DMARC-Eintrag hat Anführungszeichen oder Backslashes im Wert, deshalb sehen Empfänger ihn nicht. Geben Sie ihn in der DNS-Verwaltung ohne sie ein.',
  },
  record_invalid: {
    what: 'Der DMARC-Eintrag hat weder eine gültige Richtlinie (p=) noch eine Adresse für Berichte (rua=), also keine Wirkung.',
  },
  own_mail_fails: {
    what: '{failed} von {messages} E-Mails dieses Servers haben nicht bestanden. Prüfen Sie die DKIM- und SPF-Einträge der Domain.',
  },
  strictest: { what: 'Die Richtlinie ist reject für alle E-Mails; strenger geht es nicht.' },
  few_days: { what: 'Die Berichte decken {days} von {required} nötigen Tagen.' },
  few_messages: { what: 'Sie decken {messages} von {required} nötigen E-Mails.' },
  too_little_passed: { what: '{passed} % der E-Mails haben bestanden; nötig sind {required} %.' },
  sources_to_fix: {
    what: 'Senden diese Quellen für Sie, lassen Sie sie mit DKIM für die Domain signieren, oder nehmen Sie sie in ihren SPF-Eintrag auf. Senden sie nicht für Sie, hält erst eine strengere Richtlinie sie auf.',
  },
  enough_passed: { what: '{passed} % von {messages} E-Mails in {days} Tagen haben bestanden, also kann die Richtlinie {policy} sein.' },
  reports_unproven: {
    what: 'Berichte sind unbewiesen, und selten Versandtes kann darin fehlen. Stellen Sie sicher, dass sonst niemand für die Domain sendet.',
  },
}

import type { EmailChecks } from '../api/types.ts'
import type { SaidIn } from './said.ts'

const oneClick =
  'Gmail und Yahoo verlangen einen Klick (RFC 8058). Senden Sie mit einem Thema, von dem Leser sich abmelden können, oder fügen Sie beide Felder hinzu.'
const seeLink = 'Sehen Sie nach, ob er falsch geschrieben ist oder nicht mehr gilt.'

/** What the checks of an email's content find. */
export const germanContentFindings: SaidIn<EmailChecks['findings'][number]['code']> = {
  plain_text: { what: 'Es ist reiner Text.' },
  has_text_part: { what: 'Neben dem HTML gibt es einen Textteil.' },
  no_text_part: {
    what: 'Es gibt keinen Textteil.',
    advice: 'Senden Sie dasselbe auch als Text: Manche Leser sehen nichts anderes, und Filter vertrauen solchen E-Mails eher.',
  },
  no_pictures: { what: 'Es gibt keine Bilder.' },
  pictures_have_text: { what: 'Alle Bilder haben einen Alternativtext.' },
  pictures_without_text: {
    what: '{count} von {all} Bildern haben keinen Alternativtext.',
    advice: 'Geben Sie jedem ein `alt`, ein leeres, wenn es nur schmückt: Viele Leser laden keine Bilder.',
  },
  size_fine: { what: 'Das HTML hat {size} KB.' },
  size_clipped: {
    what: 'Das HTML hat {size} KB, und Gmail schneidet ab, was über 102 KB hinausgeht.',
    advice: 'Kürzen Sie es: Entfernen Sie ungenutzte Stile, und verlinken Sie, was lang ist.',
  },
  unsubscribe_added: { what: 'Leser können sich mit einem Klick abmelden: Sterna fügt die Felder hinzu.' },
  unsubscribe_fine: { what: 'Leser können sich mit einem Klick abmelden.' },
  unsubscribe_not_needed: {
    what: 'Es gibt kein List-Unsubscribe. Das ist richtig bei E-Mails, auf die jemand wartet, etwa einer Quittung.',
  },
  unsubscribe_missing: { what: 'Die E-Mail geht an eine Liste, hat aber kein List-Unsubscribe.', advice: oneClick },
  unsubscribe_not_one_click: { what: 'Es gibt List-Unsubscribe, aber nicht List-Unsubscribe-Post.', advice: oneClick },
  no_placeholders: { what: 'Es sind keine Platzhalter übrig.' },
  placeholders_left: { what: 'Platzhalter sind übrig: {placeholders}', advice: 'Geben Sie beim Senden ihre Werte an.' },
  no_html: { what: 'Es gibt kein HTML.' },
  supported: { what: 'Gängige Mailprogramme zeigen alles an HTML und CSS.' },
  unsupported: {
    what: 'Manche Mailprogramme lassen weg, was in dieser E-Mail steht: {features}.',
    advice: 'Sorgen Sie dafür, dass die E-Mail auch ohne das funktioniert.',
  },
  no_links: { what: 'Es gibt keine Links.' },
  link_fine: { what: 'Der Link führt zu einer Adresse.' },
  links_fine: { what: 'Alle {count} Links führen zu einer Adresse.' },
  links_dead: {
    what: '{count} von {all} Links führen ins Leere: {links}',
    advice: 'Geben Sie jedem eine ganze Adresse, etwa https://example.com/.',
  },
  link_answers_wrongly: { what: '{link}: Die Antwort ist {status}.', advice: seeLink },
  link_unreachable: { what: '{link}: {fault}', advice: seeLink },
  link_answered: { what: 'Der Link hat geantwortet.' },
  links_answered: { what: 'Alle {count} Links haben geantwortet.' },
}

import { minPasswordLength, maxPasswordLength } from '../../senders/account/password-hash.ts'
import type { SternaError } from '../../platform/errors.ts'
import type { Headers } from '../operation/call.ts'
import { preferred } from '../operation/preference.ts'

/** The words of the pages behind our links, for people who have not chosen a language here. */
export interface EntryTexts {
  language: 'en' | 'de'
  email: string
  password: string
  links: Record<'setup' | 'invite' | 'reset', { title: string; text: string; button: string }>
  done: string
  loggedIn(email: string): string
  passwordSet: string
  over: string
  unsubscribe: {
    title: string
    text(address: string, topic: string): string
    button: string
    done: string
    doneText(address: string, topic: string): string
    unknown: string
    unknownText: string
  }
  /** What went wrong, in words for the page. */
  faultOf(error: SternaError): string
}

/** The language that the browser asks for; English unless it is another that we have. */
export const entryTexts = ({ headers }: Reader): EntryTexts =>
  preferred(headers['accept-language'], ['en', 'de']) === 'de' ? german : english

/** Whoever reads a page. */
export interface Reader {
  headers: Headers<'accept-language'>
}

const english: EntryTexts = {
  language: 'en',
  email: 'Email address',
  password: `Password, at least ${minPasswordLength} characters`,
  links: {
    setup: {
      title: 'Set up Sterna',
      text: 'You become the owner of the first account and the operator of this server.',
      button: 'Begin',
    },
    invite: { title: 'Welcome to Sterna', text: 'Choose the password that you will log in with.', button: 'Set password' },
    reset: { title: 'Set a new password', text: 'Choose a new one. It ends all your sessions.', button: 'Set password' },
  },
  done: 'Done',
  loggedIn: (email) =>
    `You are logged in as ${email}. You can close this page. The API reference at /docs says, under Session, what you can do now, such as ` +
    'getting a token.',
  passwordSet: 'The password is set. You can log in with it.',
  over: 'This link no longer works',
  unsubscribe: {
    title: 'Unsubscribe?',
    text: (address, topic) =>
      `${address} will get no more mail ${kind(topic)} from this sender. Other mail, such as receipts, will still arrive.`,
    button: 'Unsubscribe',
    done: 'Unsubscribed',
    doneText: (address, topic) =>
      `${address} gets no more mail ${kind(topic)} from this sender. If that was a mistake, ask the sender to undo it.`,
    unknown: 'This link does not work',
    unknownText: 'This unsubscribe link is incomplete, or not from this server. Please use the one in the mail.',
  },
  faultOf: ({ message }) => message,
}

const kind = (topic: string): string => (topic === '' ? 'of this kind' : `on the topic “${topic}”`)

const german: EntryTexts = {
  language: 'de',
  email: 'E-Mail-Adresse',
  password: `Passwort, mindestens ${minPasswordLength} Zeichen`,
  links: {
    setup: {
      title: 'Sterna einrichten',
      text: 'Sie werden Inhaber des ersten Kontos und Betreiber dieses Servers.',
      button: 'Beginnen',
    },
    invite: { title: 'Willkommen bei Sterna', text: 'Wählen Sie das Passwort, mit dem Sie sich anmelden.', button: 'Passwort setzen' },
    reset: { title: 'Neues Passwort setzen', text: 'Wählen Sie ein neues. Alle Ihre Sitzungen enden damit.', button: 'Passwort setzen' },
  },
  done: 'Fertig',
  loggedIn: (email) =>
    `Sie sind als ${email} angemeldet und können diese Seite schließen. Was Sie nun tun können, steht in der API-Referenz unter /docs im ` +
    'Abschnitt „Session“.',
  passwordSet: 'Das Passwort ist gesetzt. Sie können sich damit anmelden.',
  over: 'Dieser Link gilt nicht mehr',
  unsubscribe: {
    title: 'Abmelden?',
    text: (address, topic) =>
      `${address} bekommt von diesem Absender keine E-Mails ${germanKind(topic)} mehr. Andere, zum Beispiel Rechnungen, kommen weiterhin an.`,
    button: 'Abmelden',
    done: 'Abgemeldet',
    doneText: (address, topic) =>
      `${address} bekommt von diesem Absender keine E-Mails ${germanKind(topic)} mehr. War das ein Versehen, bitten Sie den Absender, es ` +
      'rückgängig zu machen.',
    unknown: 'Dieser Link funktioniert nicht',
    unknownText: 'Dieser Abmeldelink ist unvollständig oder nicht von diesem Server. Bitte benutzen Sie den aus der E-Mail.',
  },
  faultOf: ({ code, faults }) => germanFaults[faults?.[0]?.code ?? code] ?? germanFaults[code] ?? 'Das hat nicht geklappt.',
}

const germanKind = (topic: string): string => (topic === '' ? 'dieser Art' : `zum Thema „${topic}“`)

/** By the code of the field's fault, or else of the error. */
const germanFaults: Record<string, string> = {
  invalid_password: `Ein Passwort muss ${minPasswordLength} bis ${maxPasswordLength} Zeichen haben.`,
  invalid_email: 'Das ist keine gültige E-Mail-Adresse.',
  user_exists: 'Dieses Konto hat schon einen Benutzer mit dieser Adresse.',
  invalid_credentials: 'Das Passwort wurde gerade geändert.',
  invalid_state: 'Es gibt noch kein Konto. Legen Sie eines an mit: sterna account create NAME',
  not_found:
    'Dieser Link wurde schon benutzt, ersetzt oder ist abgelaufen. Bitten Sie um einen neuen; den zum Einrichten gibt der Server bei jedem Start aus.',
  foreign_origin: 'Diese Anfrage kam von der Seite einer anderen Website.',
  payload_too_large: 'Das Formular ist zu groß.',
  unsupported_media_type: 'Senden Sie das Formular so, wie ein Browser es sendet.',
  service_unavailable: 'Gerade ist zu viel los. Versuchen Sie es gleich noch einmal.',
  rate_limit_exceeded: 'Zu viele Anfragen von Ihrer Adresse. Versuchen Sie es in einer Minute noch einmal.',
  validation_error: 'Es wurde noch nichts geändert: Bitte drücken Sie auf die Schaltfläche.',
}

import type { Explanation } from '../api/types.ts'
import type { SaidIn } from './said.ts'

/** Why mail did not arrive. */
export const germanCauses: SaidIn<Explanation['code']> = {
  greylisting: { what: 'Der empfangende Server lässt unbekannte Absender warten und es noch einmal versuchen (Greylisting).' },
  reverse_dns: {
    what: 'Der empfangende Server fand keinen PTR-Eintrag, der von der IP-Adresse dieses Servers zu seinem Hostnamen und zurück führt.',
    advice:
      'Der Betreiber dieses Servers muss den PTR-Eintrag beim Anbieter der IP-Adresse setzen; auf welchen Namen, steht unter Serverzustand.',
  },
  authentication: {
    what: 'Der empfangende Server konnte die E-Mail nicht authentifizieren (SPF, DKIM oder DMARC).',
    advice: 'Prüfen Sie die DNS-Einträge der Absenderdomain.',
  },
  domain_reputation: {
    what: 'Der empfangende Server vertraut der Domain nicht, von der die E-Mail kam.',
    advice: 'Schlagen Sie die Domain in der Liste nach, die die Antwort nennt, beheben Sie die Ursache, und bitten Sie dort um Streichung.',
  },
  reputation: {
    what: 'Der empfangende Server vertraut der IP-Adresse nicht, von der die E-Mail kam.',
    advice:
      'Schlagen Sie die Adresse in der Liste nach, die die Antwort nennt, beheben Sie die Ursache, und bitten Sie dort um Streichung.',
  },
  content_rejected: {
    what: 'Der empfangende Server lehnt den Inhalt der E-Mail ab.',
    advice: 'Prüfen Sie Links, Anhänge und Wortwahl; senden Sie zum Vergleich eine schlichte Fassung an dieselbe Adresse.',
  },
  mailbox_full: {
    what: 'Das Postfach des Empfängers ist voll.',
    advice: 'Erreichen Sie den Empfänger auf anderem Weg, oder senden Sie noch einmal, wenn er Platz geschaffen hat.',
  },
  invalid_recipient: {
    what: 'Das Postfach existiert beim empfangenden Server nicht oder ist geschlossen.',
    advice: 'Prüfen Sie die Schreibweise der Adresse, und entfernen Sie sie aus Ihren Listen.',
  },
  too_large: {
    what: 'Die E-Mail ist größer, als der empfangende Server annimmt.',
    advice: 'Senden Sie kleinere Anhänge oder Links zu den Dateien.',
  },
  domain_not_found: {
    what: 'Die Domain des Empfängers existiert nicht oder hat keinen Mailserver.',
    advice: 'Prüfen Sie die Schreibweise der Adresse.',
  },
  sender_address: {
    what: 'Der empfangende Server akzeptiert die Absenderadresse nicht.',
    advice: 'Prüfen Sie, ob die MX-Einträge der Absenderdomain und ihrer Return-Path-Subdomain wie verlangt veröffentlicht sind.',
  },
  host_name: {
    what: 'Der empfangende Server akzeptiert den Hostnamen nicht, mit dem sich dieser Server vorstellt.',
    advice:
      'Der Betreiber dieses Servers muss die Einstellung hostname und ihre DNS-Einträge prüfen; was fehlt, steht unter Serverzustand.',
  },
  busy: { what: 'Der empfangende Server ist ausgelastet oder hat selbst eine Störung.' },
  sending_rate: {
    what: 'Der empfangende Server begrenzt, wie viel er von der IP-Adresse dieses Servers annimmt.',
    advice: 'Hält das an, muss der Betreiber dieses Servers weniger an diesen Anbieter senden.',
  },
  domain_rate: {
    what: 'Der empfangende Server begrenzt, wie viel er von der Absenderdomain annimmt.',
    advice: 'Senden Sie weniger auf einmal an diesen Anbieter.',
  },
  recipient_rate: { what: 'Der Empfänger bekommt gerade mehr E-Mails, als der empfangende Server zulässt.' },
  unknown_recipients: {
    what: 'Der empfangende Server bekam zu viele E-Mails an Adressen, die es nicht gibt.',
    advice: 'Entfernen Sie unzustellbare Adressen aus Ihren Listen.',
  },
  dynamic_address: {
    what: 'Der empfangende Server hält die IP-Adresse dieses Servers für dynamisch.',
    advice: 'Der Betreiber dieses Servers muss über einen Smarthost senden.',
  },
  server_refused: {
    what: 'Der empfangende Server lehnt diesen Server ab.',
    advice: 'Der Betreiber dieses Servers muss den Postmaster der Gegenseite fragen.',
  },
  ipv6: {
    what: 'Der empfangende Server nimmt von diesem Server über IPv6 keine E-Mails an.',
    advice: 'Der Betreiber dieses Servers muss der IPv6-Adresse einen PTR-Eintrag geben.',
  },
  plain_text: {
    what: 'Der empfangende Server nimmt E-Mails nur über TLS an, und diese kam im Klartext.',
    advice: 'Der Betreiber dieses Servers muss nachsehen, warum TLS scheitert.',
  },
  login: {
    what: 'Der Server verlangt eine gültige Anmeldung.',
    advice: 'Der Betreiber dieses Servers muss die Anmeldung beim Smarthost prüfen.',
  },
  recipient_policy: {
    what: 'Eine Regel des Empfängers oder seiner Organisation lehnt die E-Mail ab.',
    advice: 'Bitten Sie den Empfänger auf anderem Weg, Ihre Adresse zuzulassen.',
  },
  relay_denied: {
    what: 'Der empfangende Server sagt, dass er für die Domain des Empfängers keine E-Mails annimmt.',
    advice: 'Prüfen Sie die Schreibweise der Adresse.',
  },
  mail_loop: {
    what: 'Die E-Mails für diese Adresse laufen im Kreis.',
    advice: 'Der Empfänger muss seine Weiterleitung berichtigen.',
  },
  message_format: {
    what: 'Der empfangende Server nimmt die Form der E-Mail nicht an.',
    advice: 'Berichtigen Sie, was die Antwort nennt.',
  },
  protocol: {
    what: 'Die beiden Server haben einander nicht verstanden.',
    advice: 'Senden Sie dem Betreiber dieses Servers den Dialog dieses Versuchs.',
  },
  policy: {
    what: 'Eine Richtlinie des empfangenden Servers verbietet diese E-Mail.',
    advice:
      'Lesen Sie die Antwort: Oft nennt sie die Richtlinie oder eine Seite darüber. Mehr kann Ihnen der Postmaster der Gegenseite sagen.',
  },
  null_mx: {
    what: 'Die Domain des Empfängers erklärt, dass sie gar keine E-Mails annimmt (Null MX).',
    advice: 'Prüfen Sie die Schreibweise der Domain.',
  },
  unclear_answer: {
    what:
      'Der empfangende Server verletzt das SMTP-Protokoll: Seine Antwort auf die E-Mail sagt weder, dass er sie hat, noch dass er sie ' +
      'ablehnt. Vielleicht hat der Empfänger sie, deshalb sendet Sterna sie höchstens noch einmal.',
    advice: 'Fragen Sie den Empfänger, ob sie ankam, bevor Sie sie erneut senden, und sagen Sie es dem Postmaster der Domain.',
  },
  private_address: {
    what: 'Der Mailserver der Empfängerdomain hat eine Adresse, zu der dieser Server keine Verbindung aufbaut: eine private oder seine eigene.',
    advice: 'Prüfen Sie die MX-Einträge der Domain. Für ein eigenes Netz gibt es die Einstellung delivery.allow_private_addresses.',
  },
  domain_doubtful: {
    what:
      'Die Nameserver sagen, dass die Domain des Empfängers nicht existiert oder keinen erreichbaren Mailserver hat. Sie können irren, ' +
      'deshalb fragt Sterna noch einmal, bevor die E-Mail als unzustellbar gilt.',
    advice: 'Prüfen Sie die Schreibweise der Adresse. Sind viele Domains betroffen, prüfen Sie die Nameserver dieses Servers.',
  },
  dns: {
    what: 'Das DNS gab keine Antwort über die Domain des Empfängers.',
    advice: 'Sind viele Domains betroffen, prüfen Sie die Nameserver dieses Servers.',
  },
  tls: {
    what: 'Für diese E-Mail ist TLS verlangt, und der empfangende Server bietet es nicht so an, wie es verlangt ist.',
    advice: 'Die Antwort des Zustellversuchs sagt, wer es verlangt und was fehlt: Einer von beiden muss es ändern.',
  },
  mta_sts: {
    what: 'Die Empfängerdomain veröffentlicht eine Liste ihrer Mailserver (MTA-STS), in der die Server aus ihrem DNS fehlen.',
    advice: 'Berichtigen kann sie nur der Inhaber der Domain. Ein Betreiber kann für die Domain delivery.recipient_tls setzen.',
  },
  require_tls: {
    what: 'Für die Nachricht ist TLS auf dem ganzen Weg verlangt (REQUIRETLS), was der empfangende Server nicht anbietet.',
    advice:
      'Senden Sie sie ohne REQUIRETLS oder auf anderem Weg. Die Gegenseite braucht MTA-STS oder DNSSEC, ein gültiges Zertifikat und REQUIRETLS.',
  },
  characters: {
    what: 'Der empfangende Server nimmt Adressen oder Text mit diesen Zeichen nicht an.',
    advice: 'Verwenden Sie für diesen Empfänger in Adresse und Text nur ASCII.',
  },
  internal_error: {
    what: 'Mit diesem Server oder seinen Einstellungen stimmt etwas nicht.',
    advice: 'Senden Sie dem Betreiber dieses Servers die ID dieser E-Mail.',
  },
  timeout: {
    what: 'Der empfangende Server war nicht erreichbar oder hat die Verbindung abgebrochen.',
    advice: 'Ist kein Server erreichbar, sperrt das Netz wahrscheinlich den ausgehenden Port 25.',
  },
  expired: { what: 'Der empfangende Server hat die E-Mail nicht angenommen, bevor ihre Zeit ablief.' },
  not_tried: {
    what: 'Dieser Server kam nicht dazu, die E-Mail zu senden, bevor ihre Zeit ablief.',
    advice: 'Senden Sie die E-Mail noch einmal. Geschieht das oft, muss der Betreiber dieses Servers nach seiner Warteschlange sehen.',
  },
  ended_by_operator: {
    what: 'Der Betreiber dieses Servers hat die Zustellung beendet.',
    advice: 'Fragen Sie ihn, bevor Sie sie erneut senden.',
  },
  suppressed: {
    what: 'Die Adresse steht auf Ihrer Sperrliste, deshalb wurde die E-Mail nicht an sie gesendet.',
    advice: 'Warum, steht in der Sperrliste.',
  },
  refused_for_now: { what: 'Der empfangende Server hat die E-Mail vorerst abgelehnt.' },
  other: {
    what: 'Der empfangende Server hat die E-Mail endgültig abgelehnt.',
    advice: 'Lesen Sie seine Antwort, und fragen Sie den Empfänger oder den Postmaster der Gegenseite.',
  },
  none: {
    what: 'Der empfangende Server hat die E-Mail angenommen.',
    advice: 'Nichts. Sieht der Empfänger sie nicht, liegt sie vielleicht in seinem Spam-Ordner.',
  },
}

/** Sentences of advice that belong to no cause. */
export const germanAdvice: SaidIn<Exclude<Explanation['advice_codes'][number], Explanation['code']>> = {
  retried: { what: 'Nichts zu tun: Sterna versucht es planmäßig noch einmal.' },
  given_up: { what: 'Sterna hat aufgegeben. Senden Sie die E-Mail noch einmal, wenn die Ursache behoben ist.' },
  suppressed_bounce: {
    what:
      'Bitten Sie den Empfänger um eine Adresse, die funktioniert. Funktioniert die gesperrte wieder, entfernen Sie den Eintrag, und senden Sie ' +
      'noch einmal.',
  },
  suppressed_complaint: {
    what: 'Senden Sie dieser Person nichts mehr, außer wenn sie darum bittet. Entfernen Sie dann den Eintrag.',
  },
  suppressed_unsubscribe: {
    what: 'Senden Sie dieser Person solche E-Mails nicht mehr, außer wenn sie sich wieder anmeldet. Entfernen Sie dann den Eintrag.',
  },
  suppressed_manual: {
    what: 'Möchte der Empfänger Ihre E-Mails, entfernen Sie den Eintrag, und senden Sie noch einmal.',
  },
  suppressed_no_more: { what: 'Der Eintrag steht nicht mehr in der Liste: Sie können die E-Mail noch einmal senden.' },
}

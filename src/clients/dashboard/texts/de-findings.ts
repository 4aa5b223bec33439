import type { Doctor } from '../api/types.ts'
import type { SaidIn } from './said.ts'

const again = 'Prüfen Sie noch einmal.'
const ownResolver = 'am besten auf einen eigenen, etwa unbound auf diesem Rechner. Ohne einen geht keine E-Mail hinaus.'
const enterPlainly =
  'Geben Sie den Wert in der DNS-Verwaltung ohne Anführungszeichen ein und jedes ; ohne Backslash: Was eine Zonendatei braucht, fügt sie selbst hinzu.'
const publishAddress = 'Veröffentlichen Sie einen A-Eintrag (und AAAA) für {host} mit der Adresse, von der E-Mails ausgehen.'
const publishMx = 'Veröffentlichen Sie MX {domain} mit „10 {host}“, oder setzen Sie return_path.domain auf einen eigenen Namen.'
const setBaseUrl = 'Setzen Sie base_url auf die Adresse, unter der dieser Server von außen zu erreichen ist'
const renewIssued = 'Starten Sie den Server: Er erneuert das Zertifikat. Misslingt das, steht der Grund in seinem Log.'
const renewGiven = 'Erneuern Sie es, und legen Sie es dorthin, wohin tls.cert und tls.key zeigen; der Server lädt es.'
const keepTime =
  'Lassen Sie einen Zeitdienst laufen, etwa chrony oder systemd-timesyncd: Signaturen, Zustellversuche und Einmalcodes hängen von der Uhr ab.'
const freeSpace = 'Schaffen Sie Platz, verlegen Sie data_dir auf einen größeren Datenträger, oder verkürzen Sie content_retention.'
const putBackKey = 'Legen Sie die Schlüsseldatei dieser Datenbank zurück nach {path}: Ohne sie startet der Server nicht.'
const setReverse = 'Bitten Sie Ihren Anbieter, den umgekehrten Namen (PTR) von {address} auf {host} zu setzen'
const notOwn = ' ({address} ist die Adresse von {host} im DNS; der Rechner selbst hat keine öffentliche)'
const forward = 'Leiten Sie Port 25 auf return_path.listen um (in einem Container: -p 25:2525), und öffnen Sie ihn in der Firewall.'
const at = 'Port {port} von {host} ({address})'
const openWebPort = 'Öffnen Sie den Port, und lassen Sie dort http.tls_listen oder einen Proxy antworten.'
const raiseLimit =
  'Erhöhen Sie die Grenze für offene Dateien auf 65536: LimitNOFILE=65536 in der systemd-Unit, --ulimit nofile=65536 für einen Container, sonst „ulimit -n 65536“ vor dem Start.'
const enoughFor =
  '{limit} Dateien und Sockets dürfen offen sein, genug für {http} Verbindungen über HTTP, {submission} zum Einliefern, {return_path} für den Rückweg und {delivery} zu anderen Mailservern.'

const noNewCertificate = (advice: string) => ({
  what: 'Es gibt kein neues Zertifikat für {name}: {detail}',
  advice: `${advice} Der nächste Versuch ist am {next_attempt}; SIGHUP zieht ihn vor.`,
})
const howOnEach = 'docs/tls.md zeigt, wie, auch in einem Container und hinter einem Proxy.'

/** What the doctor finds. */
export const germanFindings: SaidIn<Doctor['findings'][number]['code']> = {
  node_fine: { what: '{machine} hat um {time} keine Fehler gemeldet.' },
  node_fault: { what: '{machines}: der Fehler {fault}, seit {since}.', advice: '{message}' },

  too_slow: { what: 'Das hat zu lange gedauert.', advice: 'Prüfen Sie das Netz und dns.servers, und prüfen Sie dann noch einmal.' },

  resolver_silent: {
    what: 'Die Nameserver antworten nicht.',
    advice: `Setzen Sie dns.servers auf einen Resolver, der von hier aus funktioniert, ${ownResolver}`,
  },
  resolver_without_org: {
    what: 'Die Nameserver kennen die Top-Level-Domain org nicht, liefern also nicht die Namen des Internets.',
    advice: `Setzen Sie dns.servers auf einen Resolver, der das tut, ${ownResolver}`,
  },
  resolver_partly_silent: {
    what: 'Diese Nameserver antworten nicht: {servers}.',
    advice:
      'Reparieren Sie sie, oder streichen Sie sie aus dns.servers. E-Mails an eine Domain, die es nicht gibt, werden erst aufgegeben, wenn zwei von ihnen das sagen, oder der einzige.',
  },
  resolver_fine: { what: 'Die Nameserver antworten, und sagen es, wenn es einen Namen nicht gibt.' },
  resolver_errs: {
    what: 'Die Nameserver melden einen Fehler für einen Namen, den es nicht gibt.',
    advice:
      'E-Mails an falsch geschriebene Domains warten dann tagelang, statt zurückzukommen. Setzen Sie dns.servers auf einen anderen Resolver, am besten auf einen eigenen.',
  },
  resolver_lies: {
    what: 'Die Nameserver geben eine Antwort ({answer}) für einen Namen, den es nicht geben kann.',
    advice:
      'E-Mails an falsch geschriebene Domains gingen dorthin. Setzen Sie dns.servers auf einen Resolver, der Antworten nicht umschreibt, etwa einen eigenen.',
  },
  dnssec_unknown: { what: 'Die Nameserver von org konnten nicht nachgeschlagen werden.', advice: again },
  dnssec_validated: { what: 'Die Nameserver prüfen DNSSEC; DANE ist also an.' },
  dnssec_not_validated: {
    what: 'Die Nameserver prüfen DNSSEC nicht: Gefälschte Antworten fallen nicht auf, und DANE ist aus.',
    advice: 'Setzen Sie dns.servers auf einen prüfenden Resolver auf diesem Rechner, etwa unbound.',
  },
  dnssec_far: {
    what: 'Kein Nameserver in dns.servers läuft auf diesem Rechner oder in einem privaten Netz; DANE ist also aus.',
    advice: 'Setzen Sie dns.servers auf einen prüfenden Resolver auf diesem Rechner, etwa unbound.',
  },
  dnssec_partly_validated: {
    what: 'Diese Nameserver prüfen DNSSEC nicht, andere aber schon: {servers}.',
    advice: 'Lassen Sie sie prüfen, oder streichen Sie sie aus dns.servers.',
  },
  dnssec_off: { what: 'dns.dnssec_probe ist none, DANE ist also aus.', advice: 'Entfernen Sie die Einstellung, um DANE einzuschalten.' },

  port_25_sandbox: {
    what: 'Im Sandbox-Modus verlässt keine E-Mail diesen Rechner.',
    advice: 'Setzen Sie mode auf live, um E-Mails zu versenden.',
  },
  port_25_untested: {
    what: 'Es sind keine Hosts eingestellt, an denen Port 25 zu prüfen wäre.',
    advice: 'Setzen Sie doctor.port_25_hosts auf ein paar bekannte MX-Hosts.',
  },
  port_25_open: { what: 'Zu erreichen: {hosts}.' },
  port_25_partly_open: {
    what: 'Manche MX-Hosts sind nicht zu erreichen: {hosts}.',
    advice: 'Ist es immer derselbe, sperrt sein Betreiber vielleicht diesen Server: Sehen Sie sich an, was von dort zurückkommt.',
  },
  port_25_closed: {
    what: 'Kein MX-Host ist zu erreichen: {hosts}.',
    advice: 'Lassen Sie den ausgehenden Port 25 öffnen, oder setzen Sie delivery.smarthost auf einen Host, der Ihre E-Mails weiterleitet.',
  },

  port_25_ipv6_open: { what: 'Auch über IPv6: {hosts}.' },
  port_25_ipv6_closed: {
    what: 'Dieser Rechner hat IPv6, erreicht darüber aber keinen MX-Host: {hosts}.',
    advice:
      'Es betrifft nur Hosts ohne IPv4. Lassen Sie den ausgehenden Port 25 auch für IPv6 öffnen, oder lassen Sie ihn die Firewall ablehnen.',
  },

  source_open: { what: '{address} aus delivery.source_addresses: Von dort aus zu erreichen: {hosts}.' },
  source_missing: {
    what: 'Dieser Rechner hat {address} aus delivery.source_addresses nicht. E-Mails gehen von den anderen aus.',
    advice: 'Fügen Sie die Adresse einer Schnittstelle hinzu, oder nehmen Sie sie aus der Einstellung.',
  },
  source_closed: {
    what: 'Von {address} aus delivery.source_addresses ist kein MX-Host zu erreichen: {hosts}.',
    advice: 'Lassen Sie den ausgehenden Port 25 für diese Adresse öffnen, oder nehmen Sie sie aus der Einstellung.',
  },
  source_untested: {
    what: '{address} aus delivery.source_addresses wurde nicht geprüft: Kein Host hat eine Adresse dieser Art.',
    advice: 'Fügen Sie doctor.port_25_hosts einen MX-Host hinzu, der eine hat.',
  },

  smarthost_login_fine: { what: '{host} nimmt die Anmeldung von {user} mit {mechanism} an.' },
  smarthost_unreachable: {
    what: 'Es gibt keine Verbindung zu {host}, auf der man sich anmelden könnte: {reason}.',
    advice: 'Prüfen Sie delivery.smarthost, seinen Port, smarthost_tls und die Firewall. E-Mails warten so lange.',
  },
  smarthost_token_refused: {
    what: 'Der Anbieter gibt kein Zugriffstoken für {user}: {reason}',
    advice:
      'docs/smarthosts.md sagt, was seine Fehler bedeuten. E-Mails warten; gefragt wird erst wieder, wenn Sie sterna smarthost retry ausführen.',
  },
  smarthost_token_lacking: {
    what: 'Für {user} ist zurzeit kein Zugriffstoken zu bekommen: {reason}.',
    advice:
      'Es wird von selbst wieder versucht, und E-Mails warten. Bleibt es dabei, prüfen Sie, ob dieser Rechner den Token-Endpunkt über https erreicht.',
  },
  smarthost_smtp_auth_off: {
    what: '{host} lehnt die Anmeldung von {user} ab: {reason}.',
    advice:
      'Schalten Sie SMTP AUTH für das Postfach ein, mit der PowerShell für Exchange Online: Set-CASMailbox -Identity {user} ' +
      '-SmtpClientAuthenticationDisabled $false. Die Sicherheitsstandards müssen aus sein.',
  },
  smarthost_basic_off: {
    what: '{host} lehnt die Anmeldung von {user} ab: {reason}.',
    advice:
      'Melden Sie sich mit OAuth 2 an (docs/smarthosts.md), oder lassen Sie einen Administrator des Mandanten die Standardauthentifizierung für SMTP AUTH wieder einschalten.',
  },
  smarthost_rights_lacking: {
    what: '{host} lehnt die Anmeldung von {user} ab: {reason}.',
    advice:
      'Der Anwendung fehlt SMTP.SendAsApp, die Zustimmung dazu, ihr Dienstprinzipal (mit der Objekt-ID der Unternehmensanwendung) oder ' +
      'der Zugriff auf das Postfach: docs/smarthosts.md zeigt alles. Änderungen brauchen bis zu zwei Stunden.',
  },
  smarthost_google_refused: {
    what: '{host} lehnt die Anmeldung von {user} ab: {reason}.',
    advice:
      'Das Token gehört einem anderen Konto oder ist für weniger als https://mail.google.com/. Führen Sie sterna smarthost authorize noch einmal als {user} aus.',
  },
  smarthost_login_refused: {
    what: '{host} lehnt die Anmeldung von {user} ab: {reason}.',
    advice: 'Berichtigen Sie Benutzer und Passwort oder Anwendung. docs/smarthosts.md sagt, was Microsoft und Google meinen.',
  },

  host_name_not_full: {
    what: 'Dieser Server nennt sich „{host}“; das ist kein Name im DNS.',
    advice:
      'Setzen Sie hostname auf seinen vollen Namen, etwa mail.example.com, und veröffentlichen Sie diesen Namen mit der Adresse, von der E-Mails ausgehen.',
  },
  host_name_unknown: {
    what: '{host} konnte nicht nachgeschlagen werden.',
    advice: 'Prüfen Sie die Nameserver dieses Rechners, oder setzen Sie dns.servers.',
  },
  host_name_without_address: { what: '{host} hat keine Adresse im DNS.', advice: publishAddress },
  host_name_not_public: {
    what: '{host} hat die Adresse {addresses}; sie ist nicht öffentlich, andere erreichen sie nicht.',
    advice: 'Veröffentlichen Sie nur Adressen, die das Internet erreicht.',
  },
  host_name_lacks_addresses: {
    what: '{host} führt zu {addresses}, aber E-Mails können auch von {missing} ausgehen.',
    advice:
      'Fügen Sie diese Adressen den Einträgen von {host} hinzu; die SPF-Einträge der Domains (a:{host}) decken nur die Adressen, die dort stehen.',
  },
  host_name_fine: { what: '{host} ist {addresses}.' },

  sending_address_unknown: {
    what: 'Die öffentliche Adresse, von der E-Mails ausgehen, ist unbekannt.',
    advice: 'Veröffentlichen Sie {host} mit der Adresse, von der E-Mails ausgehen, und prüfen Sie dann noch einmal.',
  },
  sending_address_unnamed: {
    what: 'Die öffentliche Adresse, von der E-Mails ausgehen, ist unbekannt.',
    advice: 'Setzen Sie zuerst hostname.',
  },
  via_smarthost: {
    what: 'E-Mails gehen über delivery.smarthost hinaus.',
    advice: 'Für dessen Namen und Ruf ist sein Betreiber verantwortlich.',
  },
  reverse_dns_unknown: {
    what: 'Der umgekehrte Name von {address} konnte nicht nachgeschlagen werden.',
    advice: 'Prüfen Sie noch einmal; bleibt es dabei, fragen Sie Ihren Anbieter.',
  },
  reverse_dns_none: { what: '{address} hat keinen umgekehrten Namen.', advice: `${setReverse}.` },
  reverse_dns_none_assumed: { what: `{address} hat keinen umgekehrten Namen${notOwn}.`, advice: `${setReverse}.` },
  reverse_dns_not_back: {
    what: 'Der umgekehrte Name von {address} ist {names}; er führt nicht dorthin zurück.',
    advice: `${setReverse}, und veröffentlichen Sie diesen Namen mit dieser Adresse.`,
  },
  reverse_dns_not_back_assumed: {
    what: `Der umgekehrte Name von {address} ist {names}; er führt nicht dorthin zurück${notOwn}.`,
    advice: `${setReverse}, und veröffentlichen Sie diesen Namen mit dieser Adresse.`,
  },
  reverse_dns_other_name: {
    what: 'Der umgekehrte Name von {address} ist {names}, aber dieser Server nennt sich {host}.',
    advice: `${setReverse}, oder setzen Sie hostname auf {name}.`,
  },
  reverse_dns_fine: { what: 'Der umgekehrte Name von {address} ist {host}; er führt dorthin zurück.' },

  return_path_spf_unknown: { what: 'Der SPF-Eintrag von {domain} konnte nicht nachgeschlagen werden.', advice: again },
  return_path_unnamed: {
    what: 'Der Rückweg hat keinen Namen im DNS.',
    advice: 'Setzen Sie hostname oder return_path.domain auf einen vollen Namen.',
  },
  return_path_spf_fine: { what: 'Der SPF-Eintrag von {domain} erlaubt {host}.' },
  return_path_spf_several: {
    what: '{domain} hat mehrere SPF-Einträge, deshalb beachten Empfänger keinen.',
    advice: 'Behalten Sie einen an {domain}, in dem a:{host} steht.',
  },
  return_path_spf_quoted: {
    what: 'Der SPF-Eintrag von {domain} hat Anführungszeichen oder Backslashes im Wert, deshalb sehen Empfänger ihn nicht.',
    advice: enterPlainly,
  },
  return_path_spf_missing: {
    what: 'Kein SPF-Eintrag von {domain} erlaubt a:{host}.',
    advice: 'Veröffentlichen Sie TXT {domain} mit „v=spf1 a:{host} ~all“.',
  },
  return_path_port_silent: {
    what: 'Port 25 von {host} ({address}) antwortet hier nicht: {fault}. Unzustellbares käme nicht zurück.',
    advice: `${forward} Manche Netze erreichen ihre eigene öffentliche Adresse nicht; prüfen Sie dann von einem anderen Rechner aus: sterna doctor --of {host}`,
  },
  return_path_port_taken: {
    what: 'An Port 25 von {host} ({address}) antwortet ein anderer Mailserver: „{greeting}“.',
    advice: `Halten Sie ihn dort an. ${forward}`,
  },
  return_path_port_fine: { what: 'Port 25 von {host} ({address}) antwortet als dieser Server.' },
  return_path_no_way: {
    what: '{host} hat im DNS die Adresse {address}, aber von hier ist über diese Art von Adressen nichts zu erreichen.',
    advice:
      'Hat der Rechner keine solchen Adressen, entfernen Sie den Eintrag, oder geben Sie dem Rechner eine. In einem Container geben Sie seinem Netz IPv6 (enable_ipv6). Prüfen Sie es von einem anderen Rechner aus: sterna doctor --of {host}',
  },
  listeners_fine: { what: 'Jeder Port nimmt an, wofür {host} im DNS Adressen hat: {families}.' },
  listeners_lack_ipv6: {
    what: '{host} hat im DNS die Adresse {addresses}, aber diese Einstellungen nehmen nur IPv4 an, also werden Clients abgewiesen, die IPv6 vorziehen: {settings}.',
    advice: 'Lassen Sie sie auch IPv6 annehmen, etwa {setting}: "[::]:{port}", oder entfernen Sie den AAAA-Eintrag.',
  },
  listeners_lack_ipv4: {
    what: '{host} hat im DNS die Adresse {addresses}, aber diese Einstellungen nehmen nur IPv6 an, also werden Clients mit IPv4 abgewiesen: {settings}.',
    advice:
      'Lassen Sie sie auch IPv4 annehmen, etwa {setting}: "[::]:{port}" ohne eine IPv4-Adresse daneben, oder entfernen Sie den A-Eintrag.',
  },
  return_path_not_listening: {
    what: 'Kein Server nimmt Unzustellbares und Beschwerden an: return_path.listen ist none.',
    advice: 'Setzen Sie return_path.listen, etwa auf [::]:2525.',
  },
  return_path_not_in_dns: {
    what: 'Zu einem Namen, der nicht im DNS steht, kann nichts zurückkommen.',
    advice: 'Setzen Sie hostname oder return_path.domain auf einen vollen Namen.',
  },
  return_path_mx_unknown: { what: 'Der MX von {domain} konnte nicht nachgeschlagen werden.', advice: again },
  return_path_mx_fine: { what: 'Was an {domain} zurückkommt, geht an Port 25 von {host}.' },
  return_path_mx_none: { what: '{domain} hat keinen MX, also kommt nichts zu {host} zurück.', advice: publishMx },
  return_path_mx_elsewhere: { what: 'Der MX von {domain} ist {hosts}, also kommt nichts zu {host} zurück.', advice: publishMx },

  domains_not_checked: {
    what: '{count} weitere Domains wurden nicht geprüft.',
    advice: 'Der Server prüft jede von ihnen alle sechs Stunden: siehe sterna domain list.',
  },
  domain_unknown: {
    what: '{domain}: Die Einträge konnten nicht nachgeschlagen werden.',
    advice: 'Prüfen Sie noch einmal; bleibt es dabei, prüfen Sie die Nameserver der Domain.',
  },
  domain_records_missing: {
    what: '{domain}: fehlende oder falsche Einträge: {records}.',
    advice: 'Veröffentlichen Sie die Einträge, die „sterna domain show {domain}“ zeigt.',
  },
  domain_records_several: {
    what: '{domain}: mehrere Einträge, wo nur einer sein darf, deshalb beachten Empfänger keinen: {records}.',
    advice: 'Entfernen Sie alle bis auf den, den „sterna domain show {domain}“ zeigt; ein SPF-Eintrag darf auch andere Absender nennen.',
  },
  domain_records_quoted: {
    what: '{domain}: Einträge mit Anführungszeichen oder Backslashes im Wert, die Empfänger nicht verstehen: {records}.',
    advice: `${enterPlainly} „sterna domain show {domain}“ zeigt sie.`,
  },
  domain_not_verified: {
    what: '{domain}: Die Einträge sind veröffentlicht, aber die Domain ist nicht bestätigt.',
    advice: 'Führen Sie aus: sterna domain verify {domain}',
  },
  domain_fine: { what: '{domain}: Die DKIM- und SPF-Einträge sind veröffentlicht.' },
  dmarc_unknown: { what: '{domain}: Die DMARC-Richtlinie konnte nicht nachgeschlagen werden.', advice: again },
  dmarc_none: {
    what: '{domain} hat keine DMARC-Richtlinie, die große Empfänger verlangen.',
    advice: 'Veröffentlichen Sie TXT _dmarc.{domain} mit „v=DMARC1; p=none“.',
  },
  dmarc_several: {
    what: '{domain} hat mehrere DMARC-Richtlinien, also beachten Empfänger keine davon.',
    advice: 'Behalten Sie einen einzigen Eintrag an _dmarc.{domain}.',
  },
  dmarc_quoted: {
    what: '{domain}: Die DMARC-Richtlinie hat Anführungszeichen oder Backslashes im Wert, deshalb sehen Empfänger sie nicht.',
    advice: `${enterPlainly} TXT _dmarc.{domain} muss lauten: {value}`,
  },
  dmarc_invalid: {
    what: '{domain}: Der DMARC-Eintrag hat weder eine gültige Richtlinie (p=) noch eine Adresse für Berichte (rua=), also keine Wirkung.',
    advice: 'Ändern Sie TXT _dmarc.{domain} in: {value}',
  },
  dmarc_strict_spf: {
    what: '{domain}: DMARC verlangt von SPF die genaue Domain (aspf=s), aber der Rückweg ist ein Name darunter, also kann nur DKIM bestehen.',
    advice: 'Entfernen Sie aspf=s aus dem DMARC-Eintrag.',
  },
  dmarc_strict_dkim: {
    what: '{domain}: DMARC verlangt von DKIM die genaue Domain (adkim=s), also bestehen E-Mails von Namen darunter nicht.',
    advice: 'Entfernen Sie adkim=s aus dem DMARC-Eintrag, oder fügen Sie jeden dieser Namen als Domain hinzu.',
  },
  dmarc_fine: { what: '{domain}: DMARC-Richtlinie {policy}; DKIM und SPF passen dazu.' },
  dmarc_trial: {
    what: '{domain}: Die DMARC-Richtlinie bei _dmarc.{at} gilt auf Probe (t=y), also die nächstmildere: {policy}; DKIM und SPF passen dazu.',
  },
  dmarc_pct: {
    what: '{domain}: Im DMARC-Eintrag steht pct={pct}. Das zählt nicht mehr (RFC 9989): Die Richtlinie gilt für alle E-Mails.',
    advice: 'Entfernen Sie pct aus TXT _dmarc.{at}. Eine Richtlinie erprobt man mit t=y.',
  },
  dmarc_not_aligned: {
    what: '{domain}: Für DMARC gehört der Rückweg {return_path} zu {other}, nicht zu {own}; also passt SPF nicht dazu, und nur DKIM kann bestehen.',
    advice: 'Entfernen Sie psd=y und psd=n aus den DMARC-Einträgen dieser Namen und der Namen darüber.',
  },
  dmarc_reports_refused: {
    what: '{domain}: Die DMARC-Berichte gehen an {receiver}; dort fehlt die Zustimmung, also schicken Empfänger keine.',
    advice: 'Veröffentlichen Sie TXT {consent} mit „v=DMARC1“, oder lassen Sie die Berichte an eine Adresse unter {own_domain} gehen.',
  },
  tls_reports_unsigned: {
    what: 'Keine Domain signiert E-Mails von {sender}, also gehen TLS-Berichte nur an die Domains, die sie über HTTPS annehmen.',
    advice:
      'Veröffentlichen Sie den DKIM-Eintrag dieses Servers, oder setzen Sie tls_reports.sender auf eine Adresse bei einer bestätigten Domain.',
  },

  certificate_none: { what: 'Es gibt noch kein Zertifikat.', advice: 'Starten Sie den Server einmal; er erstellt eines.' },
  certificate_unreadable: {
    what: 'Das Zertifikat in tls.cert ist nicht zu lesen.',
    advice: 'Setzen Sie tls.cert und tls.key auf PEM-Dateien, die dieser Server lesen darf.',
  },
  certificate_expired_own: { what: 'Das Zertifikat ist am {date} abgelaufen.', advice: 'Starten Sie den Server: Er erstellt ein neues.' },
  certificate_expired_issued: { what: 'Das Zertifikat ist am {date} abgelaufen.', advice: renewIssued },
  certificate_expired: { what: 'Das Zertifikat ist am {date} abgelaufen.', advice: renewGiven },
  certificate_not_yet_valid: { what: 'Das Zertifikat gilt erst ab {time}.', advice: 'Prüfen Sie die Uhr, oder warten Sie.' },
  certificate_other_name: {
    what: 'Das Zertifikat gilt nicht für {host}, sondern für {names}.',
    advice: 'Besorgen Sie eines für {host}.',
  },
  certificate_expires_issued: { what: 'Das Zertifikat läuft am {date} ab.', advice: renewIssued },
  certificate_expires: { what: 'Das Zertifikat läuft am {date} ab.', advice: renewGiven },
  certificate_own: {
    what: 'Dieses Zertifikat hat Sterna selbst signiert und ersetzt es vor dem {date}: Apps, die Zertifikate prüfen, senden nicht.',
    advice:
      'Setzen Sie acme.enabled, um eines von Let’s Encrypt zu bekommen, oder tls.cert und tls.key auf ein Zertifikat für {host}, oder lassen Sie Ihre Apps tls/self-signed.crt in data_dir vertrauen (SHA-256 {fingerprint}).',
  },
  certificate_self_signed: {
    what: 'Das Zertifikat ist selbst signiert: Wer es prüft, sendet nicht.',
    advice: 'Setzen Sie tls.cert und tls.key auf ein Zertifikat für {host} von einer öffentlichen Stelle, etwa Let’s Encrypt.',
  },
  certificate_fine: { what: 'Das Zertifikat für {host} gilt bis zum {date}.' },
  certificate_issued: { what: 'Das Zertifikat für {host} gilt bis zum {date} und wird vorher erneuert.' },
  no_certificate_http_01: noNewCertificate(`Für http-01 muss Port 80 dieses Namens zu http.listen führen. ${howOnEach}`),
  no_certificate_tls_alpn_01: noNewCertificate(
    `Für tls-alpn-01 muss Port 443 dieses Namens zu http.tls_listen führen, ohne einen Proxy, der TLS beendet. ${howOnEach}`,
  ),
  no_certificate_dns: noNewCertificate(
    'Veröffentlichen Sie für den Namen einen A- oder AAAA-Eintrag oder einen CNAME, der zu diesem Server führt.',
  ),
  no_certificate_caa: noNewCertificate(
    'Ein CAA-Eintrag verbietet dieser Stelle, für den Namen auszustellen. Erlauben Sie es dort, oder setzen Sie acme.directory auf die Stelle, der es erlaubt ist.',
  ),
  no_certificate_rate_limited: noNewCertificate('Nichts zu tun: Sterna fragt wieder, sobald die Begrenzung es zulässt.'),
  no_certificate_rejected_identifier: noNewCertificate(
    'Für einen solchen Namen stellt diese Stelle nichts aus. Nehmen Sie einen öffentlichen Namen, eine eigene Stelle (acme.directory) oder tls.cert.',
  ),
  no_certificate_unreachable: noNewCertificate(
    'Prüfen Sie, ob dieser Server acme.directory erreicht. Ist es eine eigene Stelle, setzen Sie acme.ca auf ihr Stammzertifikat.',
  ),
  no_certificate_account_required: noNewCertificate(
    'Setzen Sie acme.eab_key_id und acme.eab_key_file auf das, was Sie von der Stelle bekommen haben.',
  ),
  no_certificate_invalid_contact: noNewCertificate('Setzen Sie acme.email auf eine Adresse, die die Stelle annimmt.'),
  no_certificate_unsupported: noNewCertificate('Setzen Sie acme.challenges auf eine Prüfung, die die Stelle anbietet.'),
  no_certificate_other: noNewCertificate('docs/tls.md führt die Fehler der Stellen auf.'),
  no_certificates_more: {
    what: '{count} weitere Namen haben kein neues Zertifikat.',
    advice: 'Im Log steht zu jedem der Grund.',
  },

  base_url_local: {
    what: 'Links beginnen mit {url}; das führt jeden Leser zu seinem eigenen Rechner.',
    advice: `${setBaseUrl}, oder setzen Sie hostname.`,
  },
  base_url_taken: {
    what: 'Unter {url} antwortet etwas anderes als Sterna, also führen Links in E-Mails ins Leere.',
    advice: `${setBaseUrl}, oder lassen Sie den Proxy dort Anfragen an http.listen weitergeben.`,
  },
  base_url_unreachable: {
    what: '{url} ist von hier nicht zu erreichen: {fault}.',
    advice:
      'Prüfen Sie es auch von einem anderen Rechner aus (sterna doctor --of HOST): Manche Netze erreichen ihre eigene öffentliche Adresse nicht. Veröffentlichen Sie den Namen, öffnen Sie den Port, und nehmen Sie ein Zertifikat, dem Browser vertrauen.',
  },
  base_url_without_tls: {
    what: '{url} ist ohne TLS zu erreichen: API-Schlüssel sind unterwegs lesbar, und Empfänger bieten kein Abbestellen mit einem Klick an.',
    advice:
      'Stellen Sie einen Proxy mit TLS davor, oder setzen Sie http.tls_listen mit acme.enabled oder mit tls.cert und tls.key, und setzen Sie base_url auf die https-URL.',
  },
  base_url_fine: { what: '{url} führt zu einem Sterna-Server.' },

  clock_not_compared: {
    what: 'Es ist kein Zeitserver eingestellt, mit dem die Uhr zu vergleichen wäre.',
    advice: 'Setzen Sie doctor.ntp_server, und stellen Sie die Uhr in jedem Fall mit NTP.',
  },
  clock_server_silent: {
    what: '{server} hat nicht geantwortet.',
    advice: 'Setzen Sie doctor.ntp_server auf einen Zeitserver, der auf UDP-Port 123 zu erreichen ist.',
  },
  clock_fine: { what: 'Die Uhr stimmt mit {server} überein.' },
  clock_ahead: { what: 'Die Uhr geht gegenüber {server} {seconds} s vor.', advice: keepTime },
  clock_behind: { what: 'Die Uhr geht gegenüber {server} {seconds} s nach.', advice: keepTime },
  clock_behind_log: {
    what: 'Die Uhr steht auf {now}, aber das neueste Ereignis in der Datenbank ist vom {newest}.',
    advice:
      'Stellen Sie die Uhr mit NTP. Geht sie jetzt richtig, ging sie vorher vor: Was damals geschrieben wurde, trägt ein falsches Datum, und damals geplante E-Mails warten auf ihres.',
  },

  disk_silent: { what: '{directory} antwortet nicht.', advice: 'Prüfen Sie den Datenträger.' },
  disk_full: { what: '{free} GB von {size} GB sind frei: Der Server nimmt keine E-Mails mehr an.', advice: freeSpace },
  disk_filling: { what: '{free} GB von {size} GB sind frei.', advice: freeSpace },
  disk_fine: { what: '{free} GB von {size} GB sind frei.' },
  data_directory_unreadable: {
    what: '{directory} ist nicht zu lesen.',
    advice: 'Machen Sie den Benutzer, unter dem der Server läuft, zum Eigentümer.',
  },
  data_directory_private: { what: 'Nur der Benutzer des Servers kann {directory} lesen.' },
  data_directory_open: {
    what: 'Andere auf diesem Rechner können {files} lesen; darin sind alle E-Mails.',
    advice: 'Führen Sie aus: chmod 700 {directory}',
  },
  database_clean: { what: 'Gelöschtes wird überschrieben und sein Platz zurückgegeben.' },
  database_not_rewritten: {
    what: 'Die Datenbank stammt von einer früheren Version: Was damals gelöscht wurde, ist in ihrer Datei und in Backups noch zu lesen.',
    advice: 'Halten Sie den Server an, und führen Sie aus: sterna compact. Machen Sie danach ein neues Backup.',
  },

  key_file_unusable: { what: 'Die Schlüsseldatei ist nicht zu gebrauchen: {fault}', advice: putBackKey },
  key_file_of_another: { what: '{path} ist nicht die Schlüsseldatei dieser Datenbank.', advice: putBackKey },
  key_file_does_not_open: {
    what: '{path} öffnet {unopened} von {all} gespeicherten Geheimnissen nicht.',
    advice:
      'Legen Sie die Schlüsseldatei zurück, mit der sie verschlossen wurden, oder ersetzen Sie sie: Wechseln Sie die DKIM-Schlüssel der Domains, deren E-Mails nicht signiert werden.',
  },
  key_file_fine: {
    what: '{path} öffnet alle {all} gespeicherten Geheimnisse, und nur ihr Eigentümer kann sie lesen. Heben Sie eine Kopie getrennt von den Backups auf: Ohne sie sind diese nicht wiederherzustellen.',
  },

  account_suspended: {
    what: 'Das Konto „{name}“ ist gesperrt, und seine wartenden E-Mails werden zurückgehalten. {reason}',
    advice: 'Sehen Sie sich mit seinem Inhaber die Bounces und Beschwerden an, dann: sterna account resume {account}',
  },
  account_slowed: {
    what: 'Das Konto „{name}“ darf bis {until} nur wenige Empfänger pro Minute anschreiben. {reason}',
    advice: 'Seine Benutzer wissen davon. Geht es so weiter, wird das Konto gesperrt.',
  },

  open_files_too_few: {
    what: 'Dieser Prozess darf {limit} Dateien und Sockets offen haben, braucht aber mindestens {fewest}.',
    advice: raiseLimit,
  },
  open_files_few: { what: enoughFor, advice: raiseLimit },
  open_files_fine: { what: enoughFor },

  blocklists_none: {
    what: 'Es sind keine DNS-Sperrlisten eingestellt.',
    advice: 'Setzen Sie doctor.dnsbls auf die Listen, die geprüft werden sollen.',
  },
  blocklists_without_address: {
    what: 'Die öffentliche Adresse, von der E-Mails ausgehen, ist unbekannt.',
    advice: 'Siehe „Reverse-DNS“.',
  },
  blocklist_silent: {
    what: '{list} beantwortet Anfragen von hier nicht.',
    advice:
      'Listen weisen öffentliche Resolver ab: Setzen Sie dns.servers auf einen eigenen. Gibt es die Liste nicht mehr, streichen Sie sie aus doctor.dnsbls.',
  },
  blocklist_lists_all: {
    what: '{list} führt jeden.',
    advice: 'Die Liste ist abgeschaltet, oder der Resolver schreibt Antworten um: Streichen Sie sie aus doctor.dnsbls.',
  },
  blocklist_lists: {
    what: '{list} führt {addresses}.',
    advice: 'Schlagen Sie die Adresse auf der Website von {list} nach, beheben Sie den Grund, und bitten Sie um ihre Streichung.',
  },
  blocklist_unknown: { what: '{list} hat zu {addresses} nicht geantwortet.', advice: again },
  blocklist_fine: { what: '{list} führt {addresses} nicht.' },

  outside_no_ipv6: {
    what: '{address} ist nicht zu erreichen: Dieser Rechner hat kein IPv6.',
    advice: 'Prüfen Sie es von einem aus, der es hat.',
  },
  outside_no_ipv4: {
    what: '{address} ist nicht zu erreichen: Dieser Rechner hat kein IPv4.',
    advice: 'Prüfen Sie es von einem aus, der es hat.',
  },
  outside_only_ipv4: {
    what: `${at} antwortet nicht: {fault}. Über IPv4 antwortet er.`,
    advice:
      'Steht dort in {setting} eine IPv4-Adresse wie 0.0.0.0, schreiben Sie stattdessen [::]. Sonst öffnen Sie den Port in der Firewall auch für IPv6, oder entfernen Sie den AAAA-Eintrag.',
  },
  outside_only_ipv6: {
    what: `${at} antwortet nicht: {fault}. Über IPv6 antwortet er.`,
    advice:
      'Steht dort in {setting} eine andere IPv6-Adresse als [::], schreiben Sie stattdessen [::]. Sonst öffnen Sie den Port auch für IPv4 und leiten ihn um, oder entfernen Sie den A-Eintrag.',
  },
  outside_return_path_silent: {
    what: `${at} antwortet nicht: {fault}.`,
    advice:
      'Unzustellbares und Berichte kommen nicht zurück. Leiten Sie den Port auf return_path.listen um, und öffnen Sie ihn in der Firewall. Erreicht dieser Rechner keinen Server an Port 25 („sterna doctor“ sagt es), prüfen Sie von einem anderen aus.',
  },
  outside_submission_silent: {
    what: `${at} antwortet nicht: {fault}.`,
    advice:
      'Apps anderswo können hier nicht über SMTP senden. Das ist richtig, wenn keine das tut; sonst öffnen Sie den Port und leiten Sie ihn um.',
  },
  outside_web_silent: {
    what: `${at} antwortet nicht: {fault}.`,
    advice: `Die API, die Oberfläche und Links in E-Mails brauchen ihn. ${openWebPort}`,
  },
  outside_plain_web_silent: {
    what: `${at} antwortet nicht: {fault}.`,
    advice: 'Nur Zertifikate, die man über HTTP bekommt, brauchen ihn, und Browser, die dort beginnen.',
  },
  outside_return_path_taken: {
    what: `${at} antwortet als ein anderer Server: „{greeting}“.`,
    advice: 'Halten Sie ihn dort an, oder setzen Sie hostname auf {host}.',
  },
  outside_return_path_without_tls: {
    what: `${at} bietet kein TLS an, also kommt Unzustellbares lesbar zurück.`,
    advice: 'Prüfen Sie, was davor steht.',
  },
  outside_return_path_fine: { what: `${at} antwortet mit TLS.` },
  open_relay: {
    what: `${at} nimmt von Fremden E-Mails für jede Domain an: Spammer werden das ausnutzen.`,
    advice:
      'Schließen Sie den Port sofort, und finden Sie heraus, welcher Server dort antwortet. Sterna leitet ohne Schlüssel nichts weiter.',
  },
  no_open_relay: { what: `${at} nimmt von Fremden keine E-Mails für andere Domains an.` },
  outside_submission_without_tls: {
    what: `${at} bietet kein TLS an, also kann sich keine App anmelden.`,
    advice: 'Prüfen Sie, was davor steht: Sterna nimmt ohne TLS keinen Schlüssel an.',
  },
  outside_web_taken: {
    what: `${at} antwortet, aber nicht als Sterna (HTTP {status}).`,
    advice: 'Lassen Sie den Proxy Anfragen weitergeben.',
  },
  outside_web_without_tls: { what: `${at} antwortet ohne TLS.`, advice: openWebPort },
  outside_plain_web_open: {
    what: `${at} antwortet als Sterna ohne TLS.`,
    advice:
      'API-Schlüssel sind unterwegs lesbar. Mit http.tls_listen, einer base_url mit https und einem Zertifikat dafür leitet Sterna auf https um, außer wenn http.redirect_to_https false ist. Hinter einem Proxy lassen Sie den Proxy umleiten.',
  },
  outside_plain_web_redirects: { what: `${at} leitet auf https um.` },
  outside_plain_web_fine: { what: `${at} antwortet (HTTP {status}).` },
  outside_certificate_refused_by_apps: {
    what: 'Das Zertifikat an Port {port} von {host} ({address}) ist nicht vertrauenswürdig ({problem}): Apps, die es prüfen, senden nicht.',
    advice: 'Besorgen Sie eines für {host}.',
  },
  outside_certificate_refused_by_browsers: {
    what: 'Das Zertifikat an Port {port} von {host} ({address}) ist nicht vertrauenswürdig ({problem}): Browser und Apps lehnen es ab.',
    advice: 'Besorgen Sie eines für {host}.',
  },
  outside_certificate_expires: { what: 'Das Zertifikat an Port {port} von {host} läuft am {date} ab.', advice: 'Erneuern Sie es.' },
  outside_certificate_fine: { what: `${at} antwortet mit einem Zertifikat, das bis zum {date} gilt.` },
}

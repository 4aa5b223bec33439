import { adviceByProblem } from '../../platform/certificate/acme-advice.ts'
import { openFilesWordings } from '../../platform/connection/open-files.ts'
import type { Wording } from '../../platform/wording.ts'

const again = 'Run the check again.'
const ownResolver = 'preferably your own, such as unbound on this machine. Without one no mail leaves.'
const enterPlainly =
  'Enter the value in the DNS panel without quotation marks, and each ; without a backslash: the panel adds what a zone file needs.'
const publishAddress = 'Publish an A record (and AAAA) for {host} with the address that mail leaves from.'
const setBaseUrl = 'Set base_url to where this server is reached from outside'
const renewOwn = 'Start the server: it creates a new one.'
const renewIssued = 'Start the server: it renews the certificate. If that fails, its log says why.'
const renewGiven = 'Renew it and put it where tls.cert and tls.key point; the server loads it.'
const keepTime = 'Run a time service such as chrony or systemd-timesyncd: signatures, retries and one-time codes depend on the clock.'
const freeSpace = 'Free some space, move data_dir to a larger disk, or shorten content_retention.'
const putBackKey = 'Put the key file of this database back at {path}: the server does not start without it.'
const setReverse = 'Ask your provider to set the reverse DNS (PTR) of {address} to {host}'
const notOwn = ' ({address} is the address of {host} in the DNS; the machine itself has no public address)'
const forward = 'Forward port 25 to return_path.listen (in a container: -p 25:2525), and open it in the firewall.'

/** There is no new certificate for a name, and an advice for the problem. */
const noNewCertificate = <const Advice extends string>(advice: Advice) =>
  ({
    what: 'There is no new certificate for {name}: {detail}',
    advice: `${advice} The next attempt is at {next_attempt}; SIGHUP brings it forward.`,
  }) as const

const at = 'Port {port} of {host} ({address})'
const openWebPort = 'Open the port, and have http.tls_listen or a proxy answer there.'

/** What the doctor finds. */
export const findingWordings = {
  node_fine: { what: '{machine} reported no faults at {time}.' },
  node_fault: { what: '{machines}: the fault {fault}, since {since}.', advice: '{message}' },

  too_slow: { what: 'This took too long.', advice: 'Check the network and dns.servers, and run the check again.' },

  resolver_silent: {
    what: 'The name servers do not answer.',
    advice: `Set dns.servers to a resolver that works from here, ${ownResolver}`,
  },
  resolver_without_org: {
    what: 'The name servers do not know the top-level domain org, so they do not serve the names of the internet.',
    advice: `Set dns.servers to a resolver that does, ${ownResolver}`,
  },
  resolver_partly_silent: {
    what: 'These name servers do not answer: {servers}.',
    advice:
      'Repair them or remove them from dns.servers. Mail to a domain that does not exist bounces only if two of them say so, or the only one.',
  },
  resolver_fine: { what: 'The name servers answer, and say when a name does not exist.' },
  resolver_errs: {
    what: 'The name servers return an error for a name that does not exist.',
    advice: 'Mail to mistyped domains then waits for days instead of bouncing. Set dns.servers to another resolver, preferably your own.',
  },
  resolver_lies: {
    what: 'The name servers return an answer ({answer}) for a name that cannot exist.',
    advice:
      'Mail to mistyped domains would go there. Set dns.servers to a resolver that does not rewrite answers, preferably your own, such as unbound.',
  },
  dnssec_unknown: { what: 'The name servers of org could not be looked up.', advice: again },
  dnssec_validated: { what: 'The name servers validate DNSSEC, so mail to hosts with TLSA records is sent by DANE.' },
  dnssec_not_validated: {
    what: 'The name servers do not validate DNSSEC, so forged answers go unnoticed, and DANE is off.',
    advice: 'Set dns.servers to a validating resolver on this machine, such as unbound.',
  },
  dnssec_far: {
    what: 'No name server is set that is on this machine or in a private network. Whether others validate DNSSEC can be forged, so DANE is off.',
    advice: 'Set dns.servers to a validating resolver on this machine, such as unbound.',
  },
  dnssec_partly_validated: {
    what: 'These name servers do not validate DNSSEC, but others do: {servers}.',
    advice: 'What they answer is not protected by DANE. Let them validate, or remove them from dns.servers.',
  },
  dnssec_off: { what: 'dns.dnssec_probe is none, so DANE is off.', advice: 'Remove the setting to switch DANE on.' },

  port_25_sandbox: { what: 'In sandbox mode no mail leaves this machine.', advice: 'Set mode to live to send mail.' },
  port_25_untested: {
    what: 'No hosts are configured for testing port 25.',
    advice: 'Set doctor.port_25_hosts to some well-known MX hosts.',
  },
  port_25_open: { what: '{hosts} can be reached.' },
  port_25_partly_open: {
    what: 'Some MX hosts cannot be reached: {hosts}.',
    advice: 'Where it is always the same, its operator may block this server: look at its bounces.',
  },
  port_25_closed: {
    what: 'No MX host can be reached: {hosts}.',
    advice:
      'Ask your provider to open outgoing port 25 and check your firewall, or set delivery.smarthost to a host that relays mail for you.',
  },

  port_25_ipv6_open: { what: 'Over IPv6 as well: {hosts}.' },
  port_25_ipv6_closed: {
    what: 'This machine has IPv6, but reaches no MX host over it: {hosts}.',
    advice:
      'Mail leaves over IPv4 first, so only hosts without IPv4 are concerned, and attempts take longer. Ask your provider to open outgoing port 25 for IPv6 too, or have the firewall reject it.',
  },

  source_open: { what: '{address} of delivery.source_addresses: {hosts} can be reached from there.' },
  source_missing: {
    what: 'This machine does not have {address} of delivery.source_addresses. Mail leaves from the others.',
    advice: 'Add the address to an interface, or remove it from the setting.',
  },
  source_closed: {
    what: 'From {address} of delivery.source_addresses no MX host can be reached: {hosts}.',
    advice:
      'Ask your provider to open outgoing port 25 for this address, check your firewall and the routes from it, or remove it from the setting.',
  },
  source_untested: {
    what: '{address} of delivery.source_addresses was not tested: none of the hosts has an address of its family, or the machine has no network of it.',
    advice: 'Add to doctor.port_25_hosts an MX host that has one.',
  },

  account_suspended: {
    what: 'The account "{name}" is suspended, and its queued mail is held. {reason}',
    advice: 'Look at its bounces and complaints with its owner, then: sterna account resume {account}',
  },
  account_slowed: {
    what: 'The account "{name}" may mail only a few recipients a minute until {until}. {reason}',
    advice: 'Its users were told. If it goes on, the account is suspended.',
  },

  smarthost_login_fine: { what: '{host} accepts the login of {user} by {mechanism}.' },
  smarthost_unreachable: {
    what: 'There is no connection to {host} on which to log in: {reason}.',
    advice: 'Check delivery.smarthost, its port and smarthost_tls, and the firewall. Mail waits meanwhile.',
  },
  smarthost_token_refused: {
    what: 'The provider gives no access token for {user}: {reason}',
    advice: 'docs/smarthosts.md says what its errors mean. Mail waits, and nothing is asked again before you run sterna smarthost retry.',
  },
  smarthost_token_lacking: {
    what: 'No access token for {user} can be fetched now: {reason}.',
    advice: 'It is tried again by itself, and mail waits. If it goes on, check that this machine reaches the token endpoint by https.',
  },
  smarthost_smtp_auth_off: {
    what: '{host} refuses the login of {user}: {reason}.',
    advice:
      'Switch SMTP AUTH on for the mailbox, with PowerShell for Exchange Online: Set-CASMailbox -Identity {user} ' +
      '-SmtpClientAuthenticationDisabled $false. Security defaults must be off.',
  },
  smarthost_basic_off: {
    what: '{host} refuses the login of {user}: {reason}.',
    advice:
      'Log in by OAuth 2 instead (docs/smarthosts.md), or have an administrator of the tenant switch basic authentication for SMTP AUTH on again.',
  },
  smarthost_rights_lacking: {
    what: '{host} refuses the login of {user}: {reason}.',
    advice:
      'The application lacks SMTP.SendAsApp, its consent, its service principal (with the object id of the enterprise application) or ' +
      'access to the mailbox: docs/smarthosts.md shows each. Changes take up to two hours.',
  },
  smarthost_google_refused: {
    what: '{host} refuses the login of {user}: {reason}.',
    advice: 'The token is of another account, or for less than https://mail.google.com/. Run sterna smarthost authorize again as {user}.',
  },
  smarthost_login_refused: {
    what: '{host} refuses the login of {user}: {reason}.',
    advice: 'Correct the user and the password or the application. docs/smarthosts.md says what Microsoft and Google mean.',
  },

  host_name_not_full: {
    what: 'This server calls itself "{host}", which is not a name in the DNS.',
    advice: 'Set hostname to its full name, such as mail.example.com, and publish that name with the address that mail leaves from.',
  },
  host_name_unknown: {
    what: '{host} could not be looked up.',
    advice: 'Check the name servers of this machine, or set dns.servers.',
  },
  host_name_without_address: { what: '{host} has no address in the DNS.', advice: publishAddress },
  host_name_not_public: {
    what: '{host} has the address {addresses}, which is not public: others cannot reach it.',
    advice: 'Publish only addresses that the internet reaches.',
  },
  host_name_lacks_addresses: {
    what: '{host} resolves to {addresses}, but mail may also leave from {missing}.',
    advice: 'Add these addresses to the records of {host}; the SPF records of domains (a:{host}) cover only the addresses listed there.',
  },
  host_name_fine: { what: '{host} is {addresses}.' },

  sending_address_unknown: {
    what: 'The public address that mail leaves from is unknown.',
    advice: 'Publish {host} with the address that mail leaves from, then run the check again.',
  },
  sending_address_unnamed: { what: 'The public address that mail leaves from is unknown.', advice: 'Set hostname first.' },
  via_smarthost: {
    what: 'Mail leaves through delivery.smarthost.',
    advice: "The smarthost's operator is responsible for its names and its reputation.",
  },
  reverse_dns_unknown: {
    what: 'The reverse DNS of {address} could not be looked up.',
    advice: 'Run the check again; if this persists, ask your provider.',
  },
  reverse_dns_none: { what: '{address} has no reverse DNS.', advice: `${setReverse}.` },
  reverse_dns_none_assumed: { what: `{address} has no reverse DNS${notOwn}.`, advice: `${setReverse}.` },
  reverse_dns_not_back: {
    what: 'The reverse DNS of {address} is {names}, which does not resolve back to it.',
    advice: `${setReverse}, and publish that name with this address.`,
  },
  reverse_dns_not_back_assumed: {
    what: `The reverse DNS of {address} is {names}, which does not resolve back to it${notOwn}.`,
    advice: `${setReverse}, and publish that name with this address.`,
  },
  reverse_dns_other_name: {
    what: 'The reverse DNS of {address} is {names}, but this server calls itself {host}.',
    advice: `${setReverse}, or set hostname to {name}.`,
  },
  reverse_dns_fine: { what: 'The reverse DNS of {address} is {host}, which resolves back to it.' },

  return_path_spf_unknown: { what: 'The SPF record of {domain} could not be looked up.', advice: again },
  return_path_unnamed: {
    what: 'The return path has no name in the DNS.',
    advice: 'Set hostname, or return_path.domain, to a full name.',
  },
  return_path_spf_fine: { what: 'The SPF record of {domain} allows {host}.' },
  return_path_spf_several: {
    what: '{domain} has several SPF records, so receivers ignore them all.',
    advice: 'Keep one at {domain}, with a:{host} in it.',
  },
  return_path_spf_quoted: {
    what: 'The SPF record of {domain} has quotation marks or backslashes in its value, so receivers do not see it.',
    advice: enterPlainly,
  },
  return_path_spf_missing: {
    what: 'No SPF record of {domain} allows a:{host}.',
    advice: 'Publish TXT {domain} with "v=spf1 a:{host} ~all".',
  },
  return_path_port_silent: {
    what: 'Port 25 of {host} ({address}) does not answer here: {fault}. Bounces would not come back.',
    advice: `${forward} Some networks cannot reach their own public address; then test it from another machine: sterna doctor --of {host}`,
  },
  return_path_port_taken: {
    what: 'At port 25 of {host} ({address}) another mail server answers: "{greeting}".',
    advice: `Stop it there. ${forward}`,
  },
  return_path_port_fine: { what: 'Port 25 of {host} ({address}) answers as this server.' },
  return_path_no_way: {
    what: '{host} has the address {address} in the DNS, but from here nothing can be reached over its family of addresses.',
    advice:
      'If the machine lacks this family, remove the record, or give the machine an address. In a container, give its network IPv6 (enable_ipv6). Test it from another machine: sterna doctor --of {host}',
  },
  listeners_fine: { what: 'Every port takes what {host} has addresses for in the DNS: {families}.' },
  listeners_lack_ipv6: {
    what: '{host} has the address {addresses} in the DNS, but these settings take IPv4 only, so clients that prefer IPv6 are refused: {settings}.',
    advice: 'Let them listen on IPv6 too, such as {setting}: "[::]:{port}", or remove the AAAA record.',
  },
  listeners_lack_ipv4: {
    what: '{host} has the address {addresses} in the DNS, but these settings take IPv6 only, so clients with IPv4 are refused: {settings}.',
    advice: 'Let them listen on IPv4 too, such as {setting}: "[::]:{port}" without an IPv4 address beside it, or remove the A record.',
  },
  return_path_not_listening: {
    what: 'No server accepts bounces and complaints: return_path.listen is none.',
    advice: 'Set return_path.listen, such as [::]:2525.',
  },
  return_path_not_in_dns: {
    what: 'Bounces cannot come back to a name that is not in the DNS.',
    advice: 'Set hostname, or return_path.domain, to a full name.',
  },
  return_path_mx_unknown: { what: 'The MX of {domain} could not be looked up.', advice: again },
  return_path_mx_fine: { what: 'Bounces to {domain} go to port 25 of {host}.' },
  return_path_mx_none: {
    what: '{domain} has no MX, so bounces do not come back to {host}.',
    advice: 'Publish MX {domain} with "10 {host}", or set return_path.domain to a name of its own.',
  },
  return_path_mx_elsewhere: {
    what: 'The MX of {domain} is {hosts}, so bounces do not come back to {host}.',
    advice: 'Publish MX {domain} with "10 {host}", or set return_path.domain to a name of its own.',
  },

  domains_not_checked: {
    what: '{count} more domains were not checked.',
    advice: 'The server checks each of them every six hours: see sterna domain list.',
  },
  domain_unknown: {
    what: '{domain}: its records could not be looked up.',
    advice: "Run the check again; if this persists, check the domain's name servers.",
  },
  domain_records_missing: {
    what: '{domain}: missing or wrong records: {records}.',
    advice: 'Publish the records that "sterna domain show {domain}" prints.',
  },
  domain_records_several: {
    what: '{domain}: several records where only one may be, so receivers ignore them all: {records}.',
    advice: 'Remove all but the one that "sterna domain show {domain}" prints; an SPF record may name other senders as well.',
  },
  domain_records_quoted: {
    what: '{domain}: records with quotation marks or backslashes in their value, which receivers do not understand: {records}.',
    advice: `${enterPlainly} "sterna domain show {domain}" prints them.`,
  },
  domain_not_verified: {
    what: '{domain}: its records are published, but it is not verified.',
    advice: 'Run: sterna domain verify {domain}',
  },
  domain_fine: { what: '{domain}: its DKIM and SPF records are published.' },
  dmarc_unknown: { what: '{domain}: its DMARC policy could not be looked up.', advice: again },
  dmarc_none: {
    what: '{domain} has no DMARC policy, which large receivers require.',
    advice: 'Publish TXT _dmarc.{domain} with "v=DMARC1; p=none".',
  },
  dmarc_several: {
    what: '{domain} has several DMARC policies, so receivers ignore them all.',
    advice: 'Keep one record at _dmarc.{domain}.',
  },
  dmarc_quoted: {
    what: '{domain}: its DMARC policy has quotation marks or backslashes in its value, so receivers do not see it.',
    advice: `${enterPlainly} TXT _dmarc.{domain} must be: {value}`,
  },
  dmarc_invalid: {
    what: '{domain}: its DMARC record has neither a valid policy (p=) nor an address for reports (rua=), so it has no effect.',
    advice: 'Change TXT _dmarc.{domain} to: {value}',
  },
  dmarc_strict_spf: {
    what: '{domain}: DMARC requires strict SPF alignment (aspf=s), but the return path is a name below the domain, so only DKIM can pass.',
    advice: 'Remove aspf=s from the DMARC record.',
  },
  dmarc_strict_dkim: {
    what: '{domain}: DMARC requires strict DKIM alignment (adkim=s), so mail from names below the domain does not pass.',
    advice: 'Remove adkim=s from the DMARC record, or add each of these names as a domain.',
  },
  dmarc_fine: { what: '{domain}: DMARC policy {policy}; DKIM and SPF are aligned with it.' },
  dmarc_trial: {
    what: '{domain}: the DMARC policy at _dmarc.{at} is on trial (t=y), so receivers apply the next milder one: {policy}; DKIM and SPF are aligned with it.',
  },
  dmarc_pct: {
    what: '{domain}: its DMARC record has pct={pct}, which counts no more (RFC 9989): newer receivers apply the policy to all mail.',
    advice: 'Remove pct from TXT _dmarc.{at}. To try a policy, add t=y instead: receivers then apply the next milder one.',
  },
  dmarc_not_aligned: {
    what: '{domain}: for DMARC, the return path {return_path} belongs to {other}, not to {own}, so SPF is not aligned, and only DKIM can pass.',
    advice: 'Remove psd=y and psd=n from the DMARC records of {domain}, {return_path} and the names between and above them that are yours.',
  },
  dmarc_reports_refused: {
    what: '{domain}: its DMARC reports go to {receiver}, which does not consent to them, so receivers send none.',
    advice: `Publish TXT {consent} (or *._report._dmarc.{receiver}) with "v=DMARC1", or send the reports to an address under {own_domain}, such as the domain's return path.`,
  },
  tls_reports_unsigned: {
    what: 'No domain signs mail from {sender}, so reports on TLS are sent only to the domains that take them over HTTPS.',
    advice:
      'Publish the DKIM record of this server, set tls_reports.sender to an address at a verified domain, or turn tls_reports.enabled off.',
  },

  certificate_none: { what: 'There is no certificate yet.', advice: 'Start the server once; it creates one.' },
  certificate_unreadable: {
    what: 'The certificate of tls.cert cannot be read.',
    advice: 'Set tls.cert and tls.key to PEM files that this server may read.',
  },
  certificate_expired_own: { what: 'The certificate expired on {date}.', advice: renewOwn },
  certificate_expired_issued: { what: 'The certificate expired on {date}.', advice: renewIssued },
  certificate_expired: { what: 'The certificate expired on {date}.', advice: renewGiven },
  certificate_not_yet_valid: { what: 'The certificate is valid only from {time}.', advice: 'Check the clock, or wait.' },
  certificate_other_name: { what: 'The certificate is not for {host}, but for {names}.', advice: 'Get one for {host}.' },
  certificate_expires_issued: { what: 'The certificate expires on {date}.', advice: renewIssued },
  certificate_expires: { what: 'The certificate expires on {date}.', advice: renewGiven },
  certificate_own: {
    what: 'Sterna made this self-signed certificate itself, and replaces it before {date}: apps that verify certificates refuse to send.',
    advice:
      "Set acme.enabled to get one from Let's Encrypt, or set tls.cert and tls.key to a certificate for {host}, or have your apps trust tls/self-signed.crt in data_dir (SHA-256 {fingerprint}).",
  },
  certificate_self_signed: {
    what: 'The certificate is self-signed: clients that verify it refuse to send.',
    advice: "Set tls.cert and tls.key to a certificate for {host} from a public authority, such as Let's Encrypt.",
  },
  certificate_fine: { what: 'The certificate for {host} is valid until {date}.' },
  certificate_issued: { what: 'The certificate for {host} is valid until {date}, and is renewed before.' },
  no_certificate_http_01: noNewCertificate(adviceByProblem.http_01),
  no_certificate_tls_alpn_01: noNewCertificate(adviceByProblem.tls_alpn_01),
  no_certificate_dns: noNewCertificate(adviceByProblem.dns),
  no_certificate_caa: noNewCertificate(adviceByProblem.caa),
  no_certificate_rate_limited: noNewCertificate(adviceByProblem.rate_limited),
  no_certificate_rejected_identifier: noNewCertificate(adviceByProblem.rejected_identifier),
  no_certificate_unreachable: noNewCertificate(adviceByProblem.unreachable),
  no_certificate_account_required: noNewCertificate(adviceByProblem.account_required),
  no_certificate_invalid_contact: noNewCertificate(adviceByProblem.invalid_contact),
  no_certificate_unsupported: noNewCertificate(adviceByProblem.unsupported),
  no_certificate_other: noNewCertificate(adviceByProblem.other),
  no_certificates_more: { what: '{count} more names have no new certificate.', advice: 'The log has the reason for each.' },

  base_url_local: {
    what: 'Links begin with {url}, which leads every reader to their own computer.',
    advice: `${setBaseUrl}, or set hostname.`,
  },
  base_url_taken: {
    what: 'At {url} something other than Sterna answers, so links in mail lead nowhere.',
    advice: `${setBaseUrl}, or have the proxy there hand requests on to http.listen.`,
  },
  base_url_unreachable: {
    what: '{url} cannot be reached from here: {fault}.',
    advice:
      'Check it from another machine as well (sterna doctor --of HOST): some networks cannot reach their own public address. Publish the name, open the port, and use a certificate that browsers trust.',
  },
  base_url_without_tls: {
    what: '{url} is reached without TLS: API keys can be read on the way, and receivers offer no one-click unsubscribe.',
    advice:
      'Put a proxy with TLS in front, or set http.tls_listen with acme.enabled or tls.cert and tls.key, and set base_url to the https URL.',
  },
  base_url_fine: { what: '{url} leads to a Sterna server.' },

  clock_not_compared: {
    what: 'No time server is configured to compare the clock with.',
    advice: 'Set doctor.ntp_server, and keep the clock synchronised by NTP in any case.',
  },
  clock_server_silent: {
    what: '{server} gave no answer.',
    advice: 'Set doctor.ntp_server to a time server that is reachable on UDP port 123.',
  },
  clock_fine: { what: 'The clock agrees with {server}.' },
  clock_ahead: { what: 'The clock is {seconds} s ahead of {server}.', advice: keepTime },
  clock_behind: { what: 'The clock is {seconds} s behind {server}.', advice: keepTime },
  clock_behind_log: {
    what: 'The clock says {now}, but the newest event in the database is from {newest}.',
    advice:
      'Correct the clock with NTP. If it is correct now, it was ahead before: records written then have wrong dates, and mail scheduled then waits for its date.',
  },

  disk_silent: { what: '{directory} does not respond.', advice: 'Check the disk.' },
  disk_full: { what: '{free} GB of {size} GB are free: the server accepts no more mail.', advice: freeSpace },
  disk_filling: { what: '{free} GB of {size} GB are free.', advice: freeSpace },
  disk_fine: { what: '{free} GB of {size} GB are free.' },
  data_directory_unreadable: { what: '{directory} cannot be read.', advice: 'Make the user that the server runs as its owner.' },
  data_directory_private: { what: "Only the server's user can read {directory}." },
  data_directory_open: {
    what: 'Others on this machine can read {files}, which contains all mail.',
    advice: 'Run: chmod 700 {directory}',
  },
  database_clean: { what: 'Deleted data is overwritten, and its space returned.' },
  database_not_rewritten: {
    what: 'The database was created by an earlier version: data deleted then is still readable in its file and in backups.',
    advice: 'Stop the server and run: sterna compact. Then make a new backup.',
  },

  key_file_unusable: { what: '{fault}', advice: putBackKey },
  key_file_of_another: { what: '{path} is not the key file of this database.', advice: putBackKey },
  key_file_does_not_open: {
    what: '{path} does not open {unopened} of {all} stored secrets.',
    advice: 'Put back the key file that sealed them, or replace them: rotate the DKIM keys of domains whose mail is not signed.',
  },
  key_file_fine: {
    what: '{path} opens all {all} stored secrets, and only its owner can read it. Keep a copy apart from the backups: without it they cannot be restored.',
  },

  ...openFilesWordings,

  blocklists_none: { what: 'No DNS blocklists are configured.', advice: 'Set doctor.dnsbls to the lists that should be checked.' },
  blocklists_without_address: { what: 'The public address that mail leaves from is unknown.', advice: 'See the finding reverse_dns.' },
  blocklist_silent: {
    what: '{list} does not answer queries from here.',
    advice:
      'Lists refuse public resolvers: set dns.servers to a resolver of your own. If the list has shut down, remove it from doctor.dnsbls.',
  },
  blocklist_lists_all: {
    what: '{list} lists everybody.',
    advice: 'The list has shut down, or the resolver rewrites answers: remove it from doctor.dnsbls.',
  },
  blocklist_lists: {
    what: '{list} lists {addresses}.',
    advice: 'Look up the address on the web site of {list}, fix what it was listed for, and ask for its removal.',
  },
  blocklist_unknown: { what: '{list} gave no answer for {addresses}.', advice: again },
  blocklist_fine: { what: '{list} does not list {addresses}.' },

  outside_no_ipv6: { what: '{address} cannot be reached: this machine has no IPv6.', advice: 'Test it from one that has.' },
  outside_no_ipv4: { what: '{address} cannot be reached: this machine has no IPv4.', advice: 'Test it from one that has.' },
  outside_only_ipv4: {
    what: `${at} does not answer: {fault}. Over IPv4 it does.`,
    advice:
      'If {setting} there has an IPv4 address such as 0.0.0.0, write [::] instead. Otherwise open the port in the firewall for IPv6 as well, or remove the AAAA record.',
  },
  outside_only_ipv6: {
    what: `${at} does not answer: {fault}. Over IPv6 it does.`,
    advice:
      'If {setting} there has an IPv6 address other than [::], write [::] instead. Otherwise open and forward the port for IPv4 as well, or remove the A record.',
  },
  outside_return_path_silent: {
    what: `${at} does not answer: {fault}.`,
    advice:
      'Bounces and reports do not come back. Forward the port to return_path.listen and open it in the firewall. If this machine can reach no server at port 25 ("sterna doctor" says so), test from another.',
  },
  outside_submission_silent: {
    what: `${at} does not answer: {fault}.`,
    advice: 'Apps elsewhere cannot send over SMTP here. That is right if none does; else open the port and forward it.',
  },
  outside_web_silent: {
    what: `${at} does not answer: {fault}.`,
    advice: `The API, the dashboard and links in mail need it. ${openWebPort}`,
  },
  outside_plain_web_silent: {
    what: `${at} does not answer: {fault}.`,
    advice: 'Only certificates that are obtained over HTTP need it, and browsers that begin there.',
  },
  outside_return_path_taken: {
    what: `${at} answers as another server: "{greeting}".`,
    advice: 'Stop it there, or set hostname to {host}.',
  },
  outside_return_path_without_tls: {
    what: `${at} offers no TLS, so bounces come back readable.`,
    advice: 'Check what stands in front of it.',
  },
  outside_return_path_fine: { what: `${at} answers with TLS.` },
  open_relay: {
    what: `${at} takes mail for any domain from strangers: spammers will use it.`,
    advice: 'Close the port at once, and find out which server answers there. Sterna relays for nobody without a key.',
  },
  no_open_relay: { what: `${at} takes no mail for other domains from strangers.` },
  outside_submission_without_tls: {
    what: `${at} offers no TLS, so no app can log in.`,
    advice: 'Check what stands in front of it: Sterna takes no key without TLS.',
  },
  outside_web_taken: { what: `${at} answers, but not as Sterna (HTTP {status}).`, advice: 'Have the proxy pass requests on.' },
  outside_web_without_tls: { what: `${at} answers without TLS.`, advice: openWebPort },
  outside_plain_web_open: {
    what: `${at} answers as Sterna without TLS.`,
    advice:
      'API keys can be read on the way. With http.tls_listen, an https base_url and a certificate for it, Sterna redirects to https, unless http.redirect_to_https is false. Behind a proxy, let the proxy redirect.',
  },
  outside_plain_web_redirects: { what: `${at} redirects to https.` },
  outside_plain_web_fine: { what: `${at} answers (HTTP {status}).` },
  outside_certificate_refused_by_apps: {
    what: 'The certificate at port {port} of {host} ({address}) {problem}: apps that verify it refuse to send.',
    advice: 'Get one for {host}.',
  },
  outside_certificate_refused_by_browsers: {
    what: 'The certificate at port {port} of {host} ({address}) {problem}: browsers and apps refuse it.',
    advice: 'Get one for {host}.',
  },
  outside_certificate_expires: { what: 'The certificate at port {port} of {host} expires on {date}.', advice: 'Renew it.' },
  outside_certificate_fine: { what: `${at} answers with a certificate that is valid until {date}.` },
} as const satisfies Record<string, Wording>

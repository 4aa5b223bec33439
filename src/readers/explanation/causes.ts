/** Who can do something about a failure. */
export const explanationOwners = ['recipient', 'sender', 'content', 'network', 'us'] as const
export type ExplanationOwner = (typeof explanationOwners)[number]

/** The same in four words, for those who sort replies. */
export const partyOf = {
  recipient: 'recipient',
  sender: 'sender',
  content: 'sender',
  network: 'provider',
  us: 'operator',
} as const satisfies Record<ExplanationOwner, string>

export interface Cause {
  owner: ExplanationOwner
  what: string
  /** What to do; none if only time helps. */
  advice?: string
  /** Set where the same message may well get through at another try. */
  passes?: true
}

/**
 * Why mail does not arrive, each cause with its one owner. The code stays, because counts are kept by it. A code that is also a bounce
 * category explains a bounce of which no more is known.
 */
export const causes = {
  greylisting: { owner: 'network', what: 'The receiving server makes unknown senders wait and try again (greylisting).', passes: true },
  reverse_dns: {
    owner: 'us',
    what: "The receiving server found no PTR record that leads from this server's IP address to its host name and back.",
    advice: "Whoever runs this server must set the PTR record at the provider of its IP address; the server's health says to which name.",
  },
  authentication: {
    owner: 'sender',
    what: 'The receiving server did not find the mail authenticated (SPF, DKIM or DMARC).',
    advice: 'Check the DNS records of the sending domain.',
  },
  domain_reputation: {
    owner: 'sender',
    what: 'The receiving server does not trust the domain that the mail came from.',
    advice: 'Look up the domain on the list that the reply names, fix the cause, and ask for removal there.',
  },
  reputation: {
    owner: 'us',
    what: 'The receiving server does not trust the IP address that the mail came from.',
    advice: 'Look up the address on the list that the reply names, fix the cause, and ask for removal there.',
  },
  content_rejected: {
    owner: 'content',
    what: 'The receiving server rejects the content of the message.',
    advice: 'Check links, attachments and wording; send a plain version to the same address to compare.',
  },
  mailbox_full: {
    owner: 'recipient',
    what: "The recipient's mailbox is full.",
    advice: 'Contact the recipient in another way, or send again when they have made room.',
  },
  invalid_recipient: {
    owner: 'recipient',
    what: 'The mailbox does not exist at the receiving server, or is closed.',
    advice: 'Check the spelling of the address, and remove it from your lists.',
  },
  too_large: {
    owner: 'content',
    what: 'The message is larger than the receiving server accepts.',
    advice: 'Send smaller attachments, or links to the files.',
  },
  domain_not_found: {
    owner: 'recipient',
    what: "The recipient's domain does not exist, or has no mail server.",
    advice: 'Check the spelling of the address.',
  },
  sender_address: {
    owner: 'sender',
    what: 'The receiving server does not accept the sender address.',
    advice: 'Check that the MX records of the sending domain and its return-path subdomain are published as required.',
  },
  host_name: {
    owner: 'us',
    what: 'The receiving server does not accept the host name that this server introduces itself with.',
    advice: "Whoever runs this server must check the setting hostname and its DNS records; the server's health says what is wrong.",
  },
  busy: { owner: 'network', what: 'The receiving server is busy, or has a fault of its own.', passes: true },
  sending_rate: {
    owner: 'us',
    what: "The receiving server limits how much mail, or how many connections, it takes from this server's IP address.",
    advice: 'If it goes on, whoever runs this server must send less to that provider, or more evenly.',
    passes: true,
  },
  domain_rate: {
    owner: 'sender',
    what: 'The receiving server limits how much mail it takes from the sending domain.',
    advice: 'Send less at once to that provider, and only to people who want the mail.',
    passes: true,
  },
  recipient_rate: { owner: 'recipient', what: 'The recipient gets more mail than the receiving server allows just now.', passes: true },
  unknown_recipients: {
    owner: 'sender',
    what: 'The receiving server has had too much mail for addresses that do not exist, or that are traps for spam.',
    advice: 'Remove addresses that bounced, and those that nobody has confirmed, from your lists before you send more.',
  },
  dynamic_address: {
    owner: 'us',
    what: "The receiving server takes this server's IP address for a dynamic one, or a line at home, and takes no mail from those.",
    advice: 'Whoever runs this server must have its provider take the address off such lists, or send by a smarthost.',
  },
  server_refused: {
    owner: 'us',
    what: 'The receiving server refuses this server, before it knows anything about the message.',
    advice: 'Whoever runs this server must look up its IP address on blocklists, and ask the postmaster of the other side.',
  },
  ipv6: {
    owner: 'us',
    what: 'The receiving server takes no mail from this server over IPv6.',
    advice: 'Sterna tries IPv4. Whoever runs this server must give its IPv6 address a PTR record, or take it off.',
    passes: true,
  },
  plain_text: {
    owner: 'us',
    what: 'The receiving server takes mail only over TLS, and the message came in plain text.',
    advice: "Whoever runs this server must look at why TLS fails: the attempt's dialogue shows it.",
  },
  login: {
    owner: 'us',
    what: 'The server wants a login, or does not accept the one that it got.',
    advice: 'Whoever runs this server must check the login to the smarthost, or why the mail goes to a server that wants one.',
  },
  recipient_policy: {
    owner: 'recipient',
    what: "A rule of the recipient, or of the recipient's organisation, refuses the message.",
    advice: 'Ask the recipient, in another way, to have your address allowed.',
  },
  relay_denied: {
    owner: 'recipient',
    what: "The receiving server says that it does not take mail for the recipient's domain.",
    advice: 'Check the spelling of the address. If it is right, the owner of the domain must correct its MX records or its server.',
  },
  mail_loop: {
    owner: 'recipient',
    what: 'The mail for this address goes round in a loop between servers.',
    advice: 'The recipient must correct a forwarding rule, or the owner of the domain its servers.',
  },
  message_format: {
    owner: 'content',
    what: 'The receiving server does not accept how the message is written: its header fields, its lines, or copies of its Message-ID.',
    advice: 'Read which field the reply names, and correct what your application sends.',
  },
  protocol: {
    owner: 'us',
    what: 'The two servers did not understand each other.',
    advice: 'Send the dialogue of this attempt to the operator of this server.',
  },
  policy: {
    owner: 'sender',
    what: 'A policy of the receiving server forbids this message.',
    advice: 'Read its reply: it often names the policy, or a page about it. Its postmaster can tell more.',
  },
  null_mx: {
    owner: 'recipient',
    what: "The recipient's domain declares that it accepts no mail at all (null MX).",
    advice: 'Check the spelling of the domain.',
  },
  unclear_answer: {
    owner: 'network',
    what:
      'The receiving server breaks the SMTP protocol: its answer to the message says neither that it has it nor that it refuses it. ' +
      'The recipient may have the message, so Sterna sends it once more at most.',
    advice: 'Ask the recipient whether it arrived before you send it again, and tell the postmaster of the domain.',
  },
  private_address: {
    owner: 'recipient',
    what: "The mail server of the recipient's domain has an address that this server does not connect to: a private one, or its own.",
    advice: 'Check the MX records of the domain. For a network of your own, see the setting delivery.allow_private_addresses.',
  },
  domain_doubtful: {
    owner: 'recipient',
    what:
      "The name servers say that the recipient's domain does not exist, or has no reachable mail server. " +
      'They may be wrong, so Sterna asks them again before the message bounces.',
    advice: 'Check the spelling of the address. If many domains are affected, check the name servers that this server uses.',
  },
  dns: {
    owner: 'network',
    what: "The DNS gave no answer about the recipient's domain.",
    advice: 'If many domains are affected, check the name servers that this server uses.',
    passes: true,
  },
  tls: {
    owner: 'network',
    what: 'TLS is required for this mail, and the receiving server does not offer it as required.',
    advice:
      'The reply of the attempt says who requires it, and what is missing. If this continues, the other side must repair its TLS, ' +
      'or whoever requires it must relax that.',
    passes: true,
  },
  mta_sts: {
    owner: 'recipient',
    what: "The recipient's domain publishes a list of its mail servers (MTA-STS), and the servers that its DNS names are not in it.",
    advice:
      'Only the owner of that domain can correct the list, so tell its postmaster. An operator can set delivery.recipient_tls for the domain.',
    passes: true,
  },
  require_tls: {
    owner: 'sender',
    what: 'The sender requires TLS at every hop (REQUIRETLS), which the receiving server does not offer.',
    advice: 'Send it without REQUIRETLS, or in another way. The other side needs MTA-STS or DNSSEC, a valid certificate, and REQUIRETLS.',
  },
  characters: {
    owner: 'content',
    what: 'The receiving server does not accept addresses or text with these characters.',
    advice: 'Use only ASCII in the address and text for this recipient.',
  },
  internal_error: {
    owner: 'us',
    what: 'Something is wrong with this server or its settings.',
    advice: 'Send the id of this email to the operator of this server.',
  },
  timeout: {
    owner: 'network',
    what: 'The receiving server could not be reached, or dropped the connection.',
    advice: 'If no server can be reached, the network probably blocks outgoing port 25.',
    passes: true,
  },
  expired: { owner: 'network', what: 'The receiving server did not take the message before its time was over.', passes: true },
  not_tried: {
    owner: 'us',
    what: 'This server did not get to try the message before its time was over.',
    advice: 'Send it again. If this happens often, whoever runs this server must look at its queue.',
  },
  ended_by_operator: {
    owner: 'us',
    what: 'The operator of this server ended the delivery.',
    advice: 'Ask the operator before you send it again.',
  },
  suppressed: {
    owner: 'sender',
    what: 'The address is on your suppression list, so the message was not sent to it.',
    advice: 'The suppression list says why.',
  },
  refused_for_now: { owner: 'network', what: 'The receiving server refused the message for now.', passes: true },
  other: {
    owner: 'recipient',
    what: 'The receiving server refused the message permanently.',
    advice: 'Read its reply, and ask the recipient or their postmaster.',
  },
  none: {
    owner: 'recipient',
    what: 'The receiving server accepted the message.',
    advice: 'Nothing. If the recipient does not see it, it may be in their spam folder.',
  },
} as const satisfies Record<string, Cause>

export type CauseCode = keyof typeof causes

export const causeCodes = Object.keys(causes) as CauseCode[]

/** The owner of a cause, also of a code that a later version has counted. */
export const ownerOf = (code: string): ExplanationOwner => (causes as Record<string, Cause>)[code]?.owner ?? causes.other.owner

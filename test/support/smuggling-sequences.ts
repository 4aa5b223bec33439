/** What some receivers take for the end of data, or make one of (SMTP smuggling, CVE-2023-51764 and its kin). */
export const smugglingSequences = [
  '\n.\n', '\n.\r\n', '\r.\r', '\r\n.\n', '\r\n.\r', '\r.\r\n', '\n.\r', '\r.\n', '\n\n.\r\n', '\r\r.\r\n',
  '\r\n\0.\r\n', '\r\n.\0\r\n', '\r\0\n.\r\n', '\r\r\n.\r\n', '\r\n.\r\r\n', '\n..\r\n', '\r\n..\n',
]

use strict;
use warnings;
use Net::SMTP;

open my $file, '<:raw', $ENV{MESSAGE} or die $!;
my $client = Net::SMTP->new($ENV{HOST}, Port => $ENV{PORT}) or die $@;
$client->starttls(SSL_verify_mode => 0) or die $client->message;
$client->auth('any', $ENV{KEY}) or die $client->message;
$client->mail($ENV{FROM}) && $client->to($ENV{TO}) && $client->data or die $client->message;
$client->datasend($_) for <$file>;
$client->dataend or die $client->message;
$client->quit;

CREATE TABLE certificate (id text PRIMARY KEY, expires_on date NOT NULL);
